import { afterAll, describe, expect, test } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadApplication } from '../../src/internal.js'

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

/** What speaks against a configuration that works. */
async function warningsOf(yaml: string) {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  folders.push(folder)
  const file = join(folder, 'resources.yaml')
  await writeFile(file, yaml)
  const loaded = await loadApplication({ file, env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  return loaded.warnings()
}

/** The configuration of the cases below: a model whose indexes are on line 19, and a resource. */
const config = (indexes: string, resource: string) => `version: 1
models:
  author:
    fields: { id: { type: integer, primary_key: true } }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      name: { type: string, max: 100, collation: und-x-icu }
      notes: { type: text }
      isbn: { type: string, max: 13, unique: true }
      code: { type: string, max: 13, unique: true, nullable: true }
      author: { type: belongs_to, model: author }
      pages: { type: integer, nullable: true }
      state: { type: choice, choices: [draft, published] }
      year: { type: choice, choices: [${Array.from({ length: 21 }, (_, at) => `y${at}`).join(', ')}] }
      lendable: { type: boolean }
      read_on: { type: date }
${indexes === '' ? '' : `    indexes: ${indexes}\n`}resources:
  book: { model: book, path: /books/, ${resource} }
`

/** The suggested line for each missing index, without the common start of the help. */
const additions = async (indexes: string, resource: string) =>
  (await warningsOf(config(indexes, resource)))
    .filter(({ code }) => code === 'SC401')
    .map(({ help: [line = ''] }) => line.replace(/^.*: `(.*)`$/, '$1'))

describe('a missing index is reported', () => {
  test.each([
    ['for a filter', '', 'filterable: [title]', ['indexes: [[title, id]]']],
    [
      'for a filter, with the default order after it',
      '',
      'filterable: [title], default_order: [-id]',
      ['indexes: [[title, id]]'],
    ],
    ['for an order', '', 'orderable: [pages]', ['indexes: [[pages, id]]']],
    ['for a default order', '', 'default_order: [-pages, -title]', ['indexes: [[pages, title, id]]']],
    [
      'for the part of a default order that has one direction',
      '',
      'default_order: [-pages, title]',
      ['indexes: [[pages]]'],
    ],
    ['for a range', '', 'filterable: { pages: [gte, lt] }', ['indexes: [[pages, id]]']],
    ['for a filter on several values', '', 'filterable: { pages: [in] }', ['indexes: [[pages, id]]']],
    ['for a filter on the start of a text', '', 'filterable: { title: [startswith] }', ['indexes: [[title, id]]']],
    ['for a choice with many values', '', 'filterable: [year]', ['indexes: [[year, id]]']],
    ['for the order of a relation', '', 'orderable: [author]', ['indexes: [[author, id]]']],
    ['for an order by a nullable unique field', '', 'orderable: [code]', ['indexes: [[code, id]]']],
    [
      'for the order of a cursor list',
      '',
      'orderable: [read_on], pagination: { style: cursor }',
      ['indexes: [[read_on, id]]'],
    ],
    [
      'for a filter of an unpaged list',
      '',
      'filterable: [pages], pagination: { style: none }',
      ['indexes: [[pages, id]]'],
    ],
    [
      'where the existing index starts with another field',
      '[[pages, title, id]]',
      'orderable: [pages], filterable: [title]',
      [
        'indexes: [[pages, title, id], [pages, id], [title, id]]',
        'indexes: [[pages, title, id], [pages, id], [title, id]]',
      ],
    ],
    ['next to indexes on separate lines', '\n      - [title, id]', 'orderable: [title, pages]', ['- [pages, id]']],
    [
      'next to a unique index',
      '[{ fields: [author, title], unique: true }]',
      'orderable: [pages]',
      ['indexes: [{ fields: [author, title], unique: true }, [pages, id]]'],
    ],
  ])('%s', async (_name, indexes, resource, lines) => {
    expect(await additions(indexes, resource)).toEqual(lines)
  })

  test('of an order beside an index that ignores case, which has another one', async () => {
    const index = '\n      - { fields: [title, id], ignore_case: true }'
    const warnings = await warningsOf(config(index, 'orderable: [title]'))
    expect(warnings.map(({ message }) => message)).toContain(
      'no index serves `ordering=title`: every page sorts the whole table',
    )
  })

  test('once for an order, a default order and a filter that it would serve', async () => {
    const warnings = await warningsOf(config('', 'filterable: [title], orderable: [title], default_order: [title]'))
    expect(warnings.map(({ message }) => message)).toEqual([
      'no index serves `ordering=title`: every page sorts the whole table',
    ])
  })

  test('at each resource that exposes the model', async () => {
    const more = '  other:\n    model: book\n    path: /other/\n    filterable:\n      pages: [lt]\n'
    const warnings = await warningsOf(`${config('', 'filterable: [title]')}${more}`)
    expect(warnings).toMatchObject([
      { code: 'SC401', severity: 'warning', range: { start: { line: 20, column: 52 } } },
      { code: 'SC401', severity: 'warning', range: { start: { line: 25, column: 7 } } },
    ])
  })

  test('with advice to limit a field whose values may be too long for an index', async () => {
    const [warning] = await warningsOf(config('', 'orderable: [notes]'))
    expect(warning?.help).toEqual([
      'add under `models.book`: `indexes: [[notes, id]]`',
      expect.stringMatching(/^give `notes` a `max` of at most 600 first: /),
    ])
  })
})

describe('nothing is reported for', () => {
  test.each([
    ['a filter or order on the primary key', '', 'filterable: [id], orderable: [id]'],
    ['a filter on a unique field, and its order', '', 'filterable: [isbn, code], orderable: [isbn]'],
    ['a filter on a relation', '', 'filterable: [author]'],
    ['a filter on few values', '', 'filterable: { state: [exact, in], lendable: [exact] }'],
    ['a filter on null', '', 'filterable: { pages: [isnull] }'],
    ['a filter that no index serves', '', 'filterable: { title: [contains, icontains], name: [startswith] }'],
    ['a filter whose field is the first of an index', '[[pages, title]]', 'filterable: [pages]'],
    ['the order of an unpaged list', '', 'orderable: [pages], pagination: { style: none }'],
    ['a resource without a list', '', 'operations: [create, retrieve], filterable: [pages]'],
    ['an index that a filter on few values uses', '[[state, id]]', 'filterable: [state]'],
    ['an index that a filter on null uses', '[[pages]]', 'filterable: { pages: [isnull] }'],
    ['an index that a relation uses', '[[author, title]]', ''],
    ['the table of stored responses, which is not in the file', '', 'idempotency: optional'],
    ['an index that must be unique', '[{ fields: [title, pages], unique: true }]', ''],
  ])('%s', async (_name, indexes, resource) => {
    expect(await warningsOf(config(indexes, resource))).toEqual([])
  })

  test('an order that the index of a relation over several fields serves, also if the first is unique', async () => {
    const yaml = `version: 1
models:
  shelf:
    primary_key: [room, id]
    fields: { room: { type: string, max: 10 }, id: { type: bigint } }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      room: { type: string, max: 10, nullable: true, unique: true }
    relations: { shelf: { model: shelf, fields: [room, id] } }
resources:
  book: { model: book, path: /books/, orderable: [room] }
`
    expect(await warningsOf(yaml)).toEqual([])
  })
})

test('an index with the fields of a relation in another order replaces that of the relation, and does not serve its first field', async () => {
  const yaml = (index: string) => `version: 1
models:
  shelf:
    primary_key: [room, place]
    fields: { room: { type: string, max: 10 }, place: { type: integer } }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      room: { type: string, max: 10 }
      place: { type: integer }
    relations: { shelf: { model: shelf, fields: [room, place] } }
    indexes: [${index}]
resources:
  book: { model: book, path: /books/, filterable: [room, place] }
`
  const missing = async (index: string) =>
    (await warningsOf(yaml(index))).flatMap(({ code, message }) => (code === 'SC401' ? [message] : []))
  const notServed = (name: string) => `no index serves the filter \`${name}\`: it reads the whole table`
  expect(await missing('[place, room]')).toEqual([notServed('room')])
  expect(await missing('[place, id]')).toEqual([])
})

describe('an unneeded index is reported', () => {
  test.each([
    ['that no list uses', '[[pages, id]]', 'filterable: [title, isbn], orderable: [title]', '[pages, id]'],
    ['that does not serve the lookups of the list', '[[name]]', 'filterable: { name: [contains] }', '[name]'],
    ['of a resource without a list', '[[pages]]', 'operations: [retrieve], orderable: [pages]', '[pages]'],
    ['whose fields another index starts with', '[[pages, id], [pages]]', 'orderable: [pages]', '[pages]'],
    ['on a unique field', '[[isbn]]', 'filterable: [isbn]', '[isbn]'],
    [
      'whose fields a unique index starts with',
      '[[author], { fields: [author, title], unique: true }]',
      '',
      '[author]',
    ],
  ])('%s', async (_name, indexes, resource, index) => {
    const warnings = (await warningsOf(config(indexes, resource))).filter(({ code }) => code === 'SC402')
    expect(warnings.map(({ message }) => /`(\[.*?\])`/.exec(message)?.[1])).toEqual([index])
    expect(warnings).toMatchObject([
      { severity: 'warning', range: { start: { line: 19 } }, help: [expect.stringMatching(/^remove it/)] },
    ])
  })
})
