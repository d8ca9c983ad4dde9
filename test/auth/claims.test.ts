import { expect, test } from '@jest/globals'
import { typedClaims } from '../../src/internal.js'
import { specOf } from '../support/config.js'

const { auth } = specOf(`version: 1
auth:
  claims: { text: { type: string }, number: { type: bigint }, small: { type: integer }, id: { type: uuid }, yes: { type: boolean } }
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
  { name: 'number', value: 1.5, kept: false },
  { name: 'small', value: 2 ** 31 - 1, kept: true },
  { name: 'small', value: -(2 ** 31), kept: true },
  { name: 'small', value: 2 ** 31, kept: false },
  { name: 'small', value: [1, 2 ** 32 + 1], kept: false },
  { name: 'id', value: '0190163D-8694-739b-aea5-966c26f8ad91', kept: true },
  { name: 'id', value: 'x', kept: false },
  { name: 'id', value: '{0190163d-8694-739b-aea5-966c26f8ad91}', kept: false },
  { name: 'yes', value: false, kept: true },
  { name: 'yes', value: 'false', kept: false },
])('a claim is present only with a value that rules can compare: %#', ({ name, value, kept }) => {
  if (!auth) throw new Error('there is no auth')
  expect(typedClaims(auth, (claim) => (claim.name === name ? value : undefined))).toEqual(kept ? { [name]: value } : {})
})
