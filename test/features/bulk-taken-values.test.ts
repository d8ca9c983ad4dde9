import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { FIELD_TYPES } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'

interface Case {
  readonly what: string
  readonly fields: Readonly<Record<string, object>>
  /** An index, if it is not that of a unique field. */
  readonly index?: object
  /** JSON texts of two records, of which the second is taken. */
  readonly free: string
  readonly taken: string
}

const TEXT = { type: 'string', max: 40 }
const uniqueValue = (type: string, options: object, text: string): Case => ({
  what: `a value of the type ${type}: ${text}`,
  fields: { value: { type, ...options, nullable: true, unique: true } },
  free: '{}',
  taken: `{"value":${text}}`,
})
const uniqueValues = (type: string, values: readonly unknown[], options = {}) =>
  values.map((value) => uniqueValue(type, options, JSON.stringify(value)))

/** All examples but those of `json`, whose texts are not compared. */
const EXAMPLES = FIELD_TYPES.filter(({ name }) => name !== 'json').flatMap(({ name, examples }) =>
  examples.map(({ source, json, options = {} }) => uniqueValue(name, options, source ?? JSON.stringify(json))),
)

const CASES: readonly Case[] = [
  ...EXAMPLES,
  ...uniqueValues('timestamp', ['2026-11-21T10:00:00.250Z', '2026-11-21T10:00:10Z', '2026-11-21T00:00:00.000001Z']),
  ...uniqueValues('interval', ['P-1Y2M-1DT1H', 'P1Y1M1D', 'P-1M', 'PT-0.05S', 'P-1DT100H']),
  ...uniqueValues('float', [0.0001, 0.00001, 1e14, 1e15, -1.5e-7, 1e100]),
  ...uniqueValues('float', [999999, 1000000, 1e-5], { bits: 32 }),
  ...uniqueValues('array', [['2026-11-21T10:00:00Z', null]], { items: { type: 'timestamp', nullable: true } }),
  ...uniqueValues('array', [[true, false]], { items: { type: 'boolean' } }),
  ...uniqueValues('string', ['a)=(b', 'a) already exists', 'Key (a)=(b)', 'null'], { max: 40 }),
  {
    what: 'a text that differs in case',
    fields: { nick: TEXT },
    index: { fields: ['nick'], unique: true, ignore_case: true },
    free: '{"nick":"b"}',
    taken: '{"nick":"Änne, (A)"}',
  },
  {
    what: 'a text that differs in case, by a collation',
    fields: { select: { type: 'text', collation: 'default' } },
    index: { fields: ['select'], unique: true, ignore_case: true },
    free: '{"select":"b"}',
    taken: '{"select":"Änne, (A)"}',
  },
  {
    what: 'a combination of which only one part ignores case',
    fields: { nick: TEXT, active: { type: 'boolean' }, at: { type: 'timestamp' } },
    index: { fields: ['nick', 'active', 'at'], unique: true, ignore_case: true },
    free: '{"nick":"a)=(B","active":false,"at":"2026-11-21T10:00:00Z"}',
    taken: '{"nick":"a)=(B","active":true,"at":"2026-11-21T10:00:00Z"}',
  },
]

const configOf = (cases: readonly Case[]) =>
  `${JSON.stringify({
    version: 1,
    api: { prefix: '' },
    models: Object.fromEntries(
      cases.map(({ fields, index }, at) => [
        `m${at}`,
        { fields: { id: { type: 'bigint', primary_key: true }, ...fields }, ...(index && { indexes: [index] }) },
      ]),
    ),
    resources: Object.fromEntries(
      cases.map((_case, at) => [`m${at}`, { model: `m${at}`, path: `/m${at}/`, bulk: ['create'] }]),
    ),
  }).replaceAll('\ufeff', '\\ufeff')}\n`

let api: Api
beforeAll(async () => {
  api = await startApi(configOf(CASES))
})
afterAll(() => api.close())

const post = (path: string, body: string) =>
  api.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

test.each(CASES.map((each, at) => ({ ...each, path: `/m${at}/` })))(
  'a bulk create names the record with $what',
  async ({ path, fields, free, taken }) => {
    expect((await post(path, taken)).status).toBe(201)
    const rejected = await post(path, `[${free},${taken}]`)
    const { errors = {} } = (await rejected.json()) as { errors?: object }
    expect([rejected.status, Object.keys(errors)]).toEqual([409, Object.keys(fields).map((name) => `1.${name}`)])
  },
)
