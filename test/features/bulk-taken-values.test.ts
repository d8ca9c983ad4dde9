import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { FIELD_TYPES } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

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
  {
    what: 'a combination of which one part is a default',
    fields: { number: { type: 'integer', default: 5 }, name: TEXT },
    index: { fields: ['number', 'name'], unique: true },
    free: '{"name":"b, a"}',
    taken: '{"name":"a"}',
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

const UNMANAGED = `version: 1
auth: { keys: true }
database: { managed: false }
models:
  person: { table: people, fields: { id: { type: bigint, primary_key: true }, name: { type: text, nullable: true } } }
  thing:
    table: things
    fields: { id: { type: bigint, primary_key: true }, owner: { type: text }, title: { type: text } }
  stamp: { table: stamps, fields: { at: { type: local_timestamp, primary_key: true, key: client } } }
resources:
  person: { model: person, path: /people/, bulk: [create], access: [{ to: anyone, may: all }] }
  thing:
    model: thing
    path: /things/
    bulk: [create]
    access: [{ to: anyone, may: create, fields: [title], set: { owner: me } }, { to: anyone, may: read }]
  stamp: { model: stamp, path: /stamps/, bulk: [destroy], access: [{ to: anyone, may: all }] }
`
const SQL = `
  create table people (id bigint generated by default as identity primary key, name text);
  create unique index on people (lower(name));
  create table things (
    id bigint generated by default as identity primary key,
    owner text not null,
    title text not null,
    unique (owner, title)
  );
  create table stamps (at timestamp primary key);
  create table uses (at timestamp references stamps);
  insert into stamps values ('2026-01-01 10:00:00'), ('12000-01-01 10:00:00');
  insert into uses values ('12000-01-01 10:00:00');
`

describe('a bulk request on unmanaged tables', () => {
  let database: TestDatabase
  let others: Api
  beforeAll(async () => {
    database = await openTestDatabase(SQL)
    others = await startApi(UNMANAGED, { database })
  })
  afterAll(async () => {
    await others.close()
    await database.close()
  })

  const create = async (path: string, body: unknown) => {
    const response = await others.send('POST', path, body)
    const { errors = {} } = (await response.json()) as { errors?: object }
    return [response.status, Object.keys(errors)]
  }

  test('names the created record with a text that differs in case', async () => {
    expect(await create('/api/people/', { name: 'änne' })).toEqual([201, []])
    expect(await create('/api/people/bulk/', [{ name: 'b' }, { name: 'Änne' }])).toEqual([409, ['1.name']])
    expect(await create('/api/people/bulk/', [{ name: 'Änne' }, {}])).toEqual([409, ['0.name']])
  })

  test('names the created record with a value that a grant sets', async () => {
    expect(await create('/api/things/', { title: 'a' })).toEqual([201, []])
    const titles = (...all: readonly string[]) =>
      create(
        '/api/things/bulk/',
        all.map((title) => ({ title })),
      )
    expect(await titles('b', 'a')).toEqual([409, ['1.owner', '1.title']])
    expect(await titles('c', 'c')).toEqual([409, ['owner', 'title']])
  })

  test('names a record to delete whose key only the database can have', async () => {
    const ids = ['2026-01-01T10:00:00.000000', '12000-01-01 10:00:00'].map(encodeURIComponent)
    const response = await others.fetch(`/api/stamps/?ids=${ids.map(encodeURIComponent).join()}`, { method: 'DELETE' })
    expect([response.status, await response.json()]).toMatchObject([409, { errors: { '1.at': expect.any(String) } }])
  })
})
