import { expect, test } from '@jest/globals'
import { typedClaims } from '../../src/internal.js'
import { specOf } from '../support/config.js'

const { auth } = specOf(`version: 1
auth:
  claims: { text: { type: string }, number: { type: bigint } }
  development: { ann: {} }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: read }] }
`)

test.each([
  { name: 'text', value: 'a', kept: true },
  { name: 'text', value: ['a', 'b'], kept: true },
  { name: 'text', value: 'a\0', kept: false },
  { name: 'text', value: ['a', '\ud800'], kept: false },
  { name: 'text', value: 1, kept: false },
  { name: 'number', value: Number.MAX_SAFE_INTEGER, kept: true },
  // JSON.parse makes this of 9007199254740993, too.
  { name: 'number', value: 2 ** 53, kept: false },
  { name: 'number', value: [1, 2 ** 53], kept: false },
  { name: 'number', value: '1', kept: false },
])('a claim is present only with a value that rules can compare: %#', ({ name, value, kept }) => {
  if (!auth) throw new Error('there is no auth')
  expect(typedClaims(auth, (claim) => (claim.name === name ? value : undefined))).toEqual(kept ? { [name]: value } : {})
})
