import { expect, test } from '@jest/globals'
import { checkText } from '../support/config.js'

test.each([
  { type: 'tsvector', codes: [] },
  { type: 'double precision', codes: [] },
  { type: 'bit varying(8)[]', codes: [] },
  { type: 'interval day to second(3)', codes: [] },
  { type: 'timestamp(3) without time zone[]', codes: [] },
  { type: '"char"', codes: [] },
  { type: 'public."My ""type"""[3][]', codes: [] },
  { type: 'geometry(Point,4326)', codes: [] },
  { type: '9lives', codes: ['SC206'] },
  { type: ',', codes: ['SC206'] },
  { type: 'foo bar[', codes: ['SC206'] },
  { type: 'numeric(', codes: ['SC206'] },
  { type: 'a.b.c.d', codes: ['SC206'] },
  { type: 'int; drop', codes: ['SC206'] },
  { type: '', codes: ['SC206'] },
])('`column_type: $type` has the mistakes $codes', ({ type, codes }) => {
  const found = checkText(`version: 1
models:
  place:
    table: places
    fields:
      id: { type: bigint, primary_key: true }
      shape: { type: opaque, column_type: '${type}', nullable: true }
resources:
  place: { model: place, path: /places/ }
`)
  const mistakes = Array.isArray(found) ? found : []
  expect(mistakes.map(({ code }) => code)).toEqual(codes)
  for (const { help } of mistakes) expect(help.join()).toContain('write the type as PostgreSQL prints it')
})
