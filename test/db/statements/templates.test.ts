import { describe, expect, test } from '@jest/globals'
import { createOpenTemplates, createTemplates, type Inputs } from '../../../src/db/statements/templates.js'
import type { Parameters } from '../../../src/db/statements/parameters.js'
import type { Caller } from '../../../src/resource/access.js'

const KIND = { retry: true, quick: true } as const
const tenant = ({ claims }: Caller) => claims['tenant']
const callerWith = (claims: Caller['claims']): Caller => ({ subject: 'ann', claims })

/** Renders a condition about the claim `tenant`, and counts how often it does. */
const counting = (more: (params: Parameters, inputs: Inputs) => string = () => '') => {
  let renders = 0
  const templates = createTemplates({ ownsValues: false })
  const statement = (inputs: Inputs) =>
    templates(inputs, (params) => {
      renders += 1
      const { caller } = inputs
      const isGiven = params.given(tenant, caller) !== undefined
      const rule = isGiven ? `tenant = ${params.addGiven(tenant, caller, String)}` : 'false'
      return { text: `${rule}${more(params, inputs)}`, kind: KIND }
    })
  return { statement, renders: () => renders }
}

describe('createTemplates', () => {
  test('renders once for callers with the same claims, each with its own values', () => {
    const { statement, renders } = counting()
    const values = [7, 8, 7].map((each) => statement({ caller: callerWith({ tenant: each }) }))
    expect(values).toEqual([
      { text: 'tenant = $1', values: ['7'], kind: KIND },
      { text: 'tenant = $1', values: ['8'], kind: KIND },
      { text: 'tenant = $1', values: ['7'], kind: KIND },
    ])
    expect(renders()).toBe(1)
  })

  test('has another text for a caller without the claim, in either order', () => {
    const { statement } = counting()
    const texts = [{}, { tenant: 7 }, {}, { tenant: 8 }].map(
      (claims) => statement({ caller: callerWith(claims as Caller['claims']) }).text,
    )
    expect(texts).toEqual(['false', 'tenant = $1', 'false', 'tenant = $1'])
  })

  test('reads the key and the row from each request', () => {
    const code = { name: 'code', type: { write: (value: unknown) => `<${String(value)}>` }, options: {} } as never
    const { statement, renders } = counting((params, { row = {} }) => `, code = ${params.addWritten(code, row)}`)
    const caller = callerWith({ tenant: 7 })
    expect(statement({ caller, id: ['1'], row: { code: 'a' } })).toMatchObject({
      text: 'tenant = $2, code = $3',
      values: ['1', '7', '<a>'],
    })
    expect(statement({ caller, id: ['2'], row: { code: 'b' } }).values).toEqual(['2', '7', '<b>'])
    expect(renders()).toBe(1)
  })

  test.each<[string, (params: Parameters, inputs: Inputs) => string]>([
    ['has a value of a request', (params, { caller }) => ` and a = ${params.add(String(tenant(caller)))}`],
    [
      'depends on a value of a request',
      (params, { caller }) => {
        params.dependsOnValue()
        return ` and a = ${String(tenant(caller))}`
      },
    ],
  ])('keeps no text that %s', (_, more) => {
    const { statement, renders } = counting(more)
    const first = statement({ caller: callerWith({ tenant: 7 }) })
    const second = statement({ caller: callerWith({ tenant: 8 }) })
    expect(JSON.stringify(first)).not.toContain('8')
    expect(JSON.stringify(second)).not.toContain('7')
    expect(renders()).toBe(2)
  })
})

describe('createOpenTemplates', () => {
  test('renders once for rows with the same fields, each with its own values', () => {
    const field = (name: string) => ({ name, type: { write: String }, options: {} }) as never
    let renders = 0
    const templates = createOpenTemplates(10)
    const statement = (row: Record<string, unknown>, id: readonly string[]) =>
      templates(row, id, (params) => {
        renders += 1
        return {
          text: Object.keys(row)
            .map((name) => params.addWritten(field(name), row))
            .join(),
          kind: KIND,
        }
      })
    expect(statement({ a: 1, b: 2 }, ['7'])).toMatchObject({ text: '$2,$3', values: ['7', '1', '2'] })
    expect(statement({ a: 3, b: null }, ['8'])).toMatchObject({ text: '$2,$3', values: ['8', '3', null] })
    expect(statement({ b: 4 }, ['9'])).toMatchObject({ text: '$2', values: ['9', '4'] })
    expect(renders).toBe(2)
  })
})
