import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const CONFIG = `version: 1
api: { prefix: "" }
models:
  item:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, nullable: true }
      size: { type: integer, nullable: true }
resources:
  item: { model: item, path: /items/, filterable: { name: [endswith, iexact, not_in], size: [not_in, range] }, pagination: { style: none } }
`
let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG)
  for (const [name, size] of [
    ['Ada', 1],
    ['adam', 2],
    ['50%', 3],
    ['a,b', 4],
    [null, null],
    ['É', null],
  ])
    expect((await api.send('POST', '/items/', { name, size })).status).toBe(201)
})
afterAll(() => api.close())

const list = async (query: string) => {
  const response = await api.fetch(`/items/?${query}`)
  const body = (await response.json()) as { id: number }[] & { detail: string }
  return response.status === 200 ? body.map(({ id }) => id) : body.detail
}

describe('a filter finds these records', () => {
  test.each<[string, number[]]>([
    ['name__endswith=m', [2]],
    ['name__endswith=M', []],
    ['name__endswith=%25', [3]],
    ['name__endswith=', [1, 2, 3, 4, 6]],
    ['name__iexact=aDA', [1]],
    ['name__iexact=ad', []],
    ['name__iexact=50%25', [3]],
    ['name__iexact=5%25', []],
    ['name__iexact=É', [6]],
    ['name__iexact=é', []],
    ['name__not_in=Ada,adam', [3, 4, 5, 6]],
    ['name__not_in=a%5C,b', [1, 2, 3, 5, 6]],
    ['size__not_in=1,2,9', [3, 4, 5, 6]],
    ['size__range=2,3', [2, 3]],
    ['size__range=3,2', []],
    ['size__range=2,2', [2]],
  ])('?%s', async (query, found) => {
    expect(await list(query)).toEqual(found)
  })
})

describe('a filter rejects, and names the accepted values', () => {
  test.each([
    ['name__endswith=%00', '`name__endswith` must not contain U+0000 or an unpaired surrogate'],
    ['size__not_in=1,x', 'the value of `size__not_in` must be like `0`; got `x`'],
    [`size__not_in=${'1,'.repeat(100)}1`, '`size__not_in` takes at most 100 values'],
    ['size__range=2', '`size__range` must have two values, the first and the last; got 1'],
    ['size__range=1,2,3', '`size__range` must have two values, the first and the last; got 3'],
    ['size__range=1,x', 'the value of `size__range` must be like `0`; got `x`'],
  ])('?%s', async (query, detail) => {
    expect(await list(query)).toBe(detail)
  })
})
