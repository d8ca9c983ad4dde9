import { expect, test } from '@jest/globals'
import { decide } from '../../src/access/decide/decide.js'
import { knownBy } from '../../src/access/decide/situation.js'
import { fail } from '../../src/foundation/fail.js'
import { specOf } from '../support/config.js'

const yamlOf = (nulls: string) => `version: 1
auth: { development: { ann: {} } }
models:
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, rating: { type: integer, nullable: true } } }
resources:
  book:
    model: book
    path: /books/
    orderable: [rating]
    ${nulls}
    access: [{ to: anyone, may: [list] }]
`
const RECORDS = [
  { id: '1', rating: null },
  { id: '2', rating: '5' },
  { id: '3', rating: '3' },
]

test.each([
  { nulls: '', descending: false, ids: ['3', '2', '1'] },
  { nulls: '', descending: true, ids: ['1', '2', '3'] },
  { nulls: 'nulls: { rating: first }', descending: false, ids: ['1', '3', '2'] },
  { nulls: 'nulls: { rating: first }', descending: true, ids: ['1', '2', '3'] },
  { nulls: 'nulls: { rating: last }', descending: false, ids: ['3', '2', '1'] },
  { nulls: 'nulls: { rating: last }', descending: true, ids: ['2', '3', '1'] },
])('decisions order nulls as lists do: descending $descending, "$nulls"', ({ nulls, descending, ids }) => {
  const spec = specOf(yamlOf(nulls))
  const resource = spec.resources[0] ?? fail('the configuration has no resource')
  const situation = { spec, resource, caller: undefined, known: knownBy(spec, undefined, () => RECORDS) }
  const { records } = decide(situation, { operation: 'list', order: [{ field: 'rating', descending }] })
  expect(records?.map(({ id }) => id)).toEqual(ids)
})
