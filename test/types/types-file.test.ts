import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { JsonText } from '../../src/index.js'
import { FIELD_TYPES, loadApplication, renderOpenApi, renderTypes } from '../../src/internal.js'
import { type Project, makeProject, runInHost } from '../support/cli.js'

/** A declaration of each type of field, and what stands for its values in a record and in what makes one. */
const FIELDS: Readonly<Record<string, readonly [declared: string, record: string, insert?: string]>> = {
  string: ['max: 9', 'string'],
  text: ['min: 1', 'string'],
  email: ['unique: false', 'string'],
  url: ['unique: false', 'string'],
  integer: ['minimum: 1', 'number'],
  bigint: ['minimum: 1', 'bigint'],
  decimal: ['precision: 6, scale: 2', 'string'],
  float: ['minimum: 1', 'number'],
  boolean: ['unique: false', 'boolean'],
  date: ['unique: false', 'string'],
  time: ['unique: false', 'string'],
  timestamp: ['unique: false', 'string'],
  local_timestamp: ['precision: 3', 'string'],
  uuid: ['unique: false', 'string'],
  char: ['length: 3', 'string'],
  choice: [`choices: [out, "it's"]`, `"out" | "it's"`],
  binary: ['max: 9', 'string'],
  interval: ['unique: false', 'string'],
  inet: ['unique: false', 'string'],
  cidr: ['unique: false', 'string'],
  array: ['items: { type: integer }', 'readonly number[]'],
  json: ['unique: false', 'JsonText', 'Json | JsonText'],
  opaque: ['column_type: point, nullable: true', 'string | null'],
  belongs_to: ['model: author', 'number'],
}

const LIBRARY = `version: 1
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
  book:
    fields:
      id: { type: uuid, primary_key: true }
${Object.entries(FIELDS)
  .map(([type, [declared]]) => `      a_${type}: { type: ${type}, ${declared} }`)
  .join('\n')}
  shelf:
    primary_key: [room, days]
    fields: { room: { type: string, max: 9 }, days: { type: integer } }
  loan:
    relations: { shelf: { model: shelf, fields: [reader, days] } }
    fields:
      id: { type: bigint, primary_key: true }
      reader: { type: string, max: 9 }
      note: { type: text, nullable: true }
      days: { type: integer, default: 14 }
      made_at: { type: timestamp, auto: on_create }
      origin: { type: string, max: 9, read_only: true, default: web }
      pin: { type: string, max: 4, write_only: true }
      hash: { type: string, max: 9, private: true, nullable: true }
resources:
  author: { model: author, path: /authors/, pagination: { style: none } }
  book:
    model: book
    path: /books/
    filterable: { a_bigint: [exact, in, gte], a_choice: [exact, in], a_json: [isnull], a_boolean: [exact] }
    orderable: [a_date]
    search: [a_string]
    sparse_fields: true
    expand: { a_belongs_to: { resource: author } }
    pagination: { style: limit_offset }
    idempotency: optional
    computed: { label: { from: [a_string, a_date], type: string, nullable: true }, size: { from: [a_json], type: bigint } }
  loan: { model: loan, path: /loans/, pagination: { style: none } }
mounts:
  - { path: /admin, dialect: simple-rest }
plugins: [./plugin.mjs]
`

const PLUGIN = `export default (app) => {
  app.route('GET', '/years/{year}/books/{id}/', "year's-book", () => ({ status: 204 }))
  app.action('loan', 'extend', { summary: 'Extend', handle() {} })
  app.compute('book', 'label', () => null)
  app.compute('book', 'size', () => 1)
}
`

let project: Project
let text: string
let openApi: string
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': LIBRARY, 'plugin.mjs': PLUGIN })
  const loaded = await loadApplication({ file: join(project.folder, 'resources.yaml'), env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  text = renderTypes(loaded.app)
  openApi = renderOpenApi(loaded.app, '3.1')
})
afterAll(() => project.remove())

interface Document {
  readonly paths: Readonly<
    Record<string, { readonly get: { readonly parameters: readonly { readonly name: string; readonly in: string }[] } }>
  >
}

/** The members of a type, without their comments. */
const membersOf = (type: string): Readonly<Record<string, string>> => {
  const [, body = ''] = new RegExp(`^export type ${type} = \\{\n([^]*?)^\\}`, 'm').exec(text) ?? []
  return Object.fromEntries([...body.matchAll(/^ {2}readonly (\S+): (.*)$/gm)].map(([, name, type]) => [name, type]))
}

describe('the types of fields', () => {
  test('are tested for every field type', () => {
    expect(Object.keys(FIELDS).sort()).toEqual(FIELD_TYPES.map(({ name }) => name).sort())
  })

  test.each(Object.entries(FIELDS))('are correct for a %s', (type, [, record, insert = record]) => {
    const optional = type === 'opaque' ? '?' : ''
    expect(membersOf('Book')[`a_${type}`]).toBe(record)
    expect(membersOf('BookInsert')[`a_${type}${optional}`]).toBe(insert)
    expect(membersOf('BookCreate')[`a_${type}`]).toBe(type === 'opaque' ? undefined : record)
  })

  test.each(FIELD_TYPES.filter(({ examples }) => examples.length > 0).map((type) => [type.name, type] as const))(
    "match a handler's values of a %s",
    (_name, { typescript, examples }) => {
      const kinds = examples.map(({ value }) =>
        value instanceof JsonText ? 'JsonText' : Array.isArray(value) ? 'readonly unknown[]' : typeof value,
      )
      expect([...new Set(kinds)]).toEqual([typescript])
    },
  )

  test('show the rules of a field', () => {
    expect(text).toContain('must be an integer, must be between 1 and 2147483647 */\n  readonly a_integer: number')
  })
})

describe('the types of a model', () => {
  test('contain every stored field of a record', () => {
    expect(membersOf('Loan')).toEqual({
      id: 'bigint',
      reader: 'string',
      note: 'string | null',
      days: 'number',
      made_at: 'string',
      origin: 'string',
      pin: 'string',
      hash: 'string | null',
    })
  })

  test('name the related rows of a relation over several fields', () => {
    expect(text).toMatch(/export interface LoanRow \{[^}]*\n {2}readonly shelf\?: ShelfRow \| null\n\}/)
  })

  test('require only fields without a default', () => {
    expect(membersOf('LoanInsert')).toEqual({
      reader: 'string',
      'note?': 'string | null',
      'days?': 'number',
      'made_at?': 'string',
      'origin?': 'string',
      pin: 'string',
      'hash?': 'string | null',
    })
    expect(text).toContain('export type LoanChange = Partial<LoanInsert>')
  })

  test('contain in bodies the writable fields', () => {
    expect(membersOf('LoanCreate')).toEqual({
      reader: 'string',
      'note?': 'string | null',
      'days?': 'number',
      pin: 'string',
    })
    expect(membersOf('LoanUpdate')).toEqual({ reader: 'string', note: 'string | null', days: 'number', pin: 'string' })
    expect(text).toContain('export type LoanPatch = Partial<LoanUpdate>')
  })
})

test("exist for the file's models only", () => {
  const names = [...text.matchAll(/^export type (\w+) = \{/gm)].map(([, name]) => name)
  expect(names.filter((name) => /^[A-Z][a-z]*$/.test(name ?? ''))).toEqual(['Author', 'Book', 'Shelf', 'Loan'])
  expect(text).not.toMatch(/snippetctl_|Answer/)
})

describe('the types of lists and routes', () => {
  test('have a parameter for each lookup, the order and the pages', () => {
    expect(membersOf('BookFilter')).toEqual({
      'a_bigint?': 'bigint | undefined',
      'a_bigint__in?': 'readonly (bigint)[] | undefined',
      'a_bigint__gte?': 'bigint | undefined',
      'a_choice?': `"out" | "it's" | undefined`,
      'a_choice__in?': `readonly ("out" | "it's")[] | undefined`,
      'a_json__isnull?': 'boolean | undefined',
      'a_boolean?': 'boolean | undefined',
      'search?': 'string | undefined',
      'fields?': expect.stringContaining('"a_date" | '),
      'expand?': '"a_belongs_to" | readonly ("a_belongs_to")[] | undefined',
      'ordering?': '"a_date" | "-a_date" | readonly ("a_date" | "-a_date")[] | undefined',
      'limit?': 'number | undefined',
      'offset?': 'number | undefined',
      'cursor?': 'string | undefined',
    })
    expect(text).toContain('export type LoanFilter = Record<string, never>')
  })

  test('have every documented parameter', () => {
    const documented = JSON.parse(openApi) as Document
    const told = documented.paths['/api/books/partial/']?.get.parameters.filter((each) => each.in === 'query') ?? []
    const names = Object.keys(membersOf('BookFilter')).map((name) => name.replace('?', ''))
    expect(names.sort()).toEqual(told.map(({ name }) => name).sort())
  })

  test.each([
    ['book-list', 'Record<string, never>'],
    ['book-detail', '{\n        readonly id: string\n      }'],
    ['loan-detail', '{\n        readonly id: bigint | string\n      }'],
    ['loan-extend', '{\n        readonly id: bigint | string\n      }'],
    ['admin:loan-detail', '{\n        readonly id: bigint | string\n      }'],
    [
      "year's-book",
      '{\n        readonly year: bigint | number | string\n        readonly id: bigint | number | string\n      }',
    ],
  ])('contain the arguments of the path of %s', (name, params) => {
    expect(text).toContain(`      readonly ${JSON.stringify(name)}: ${params}\n`)
  })

  test('include mounts, whose clients have their own parameters', () => {
    const [, mounted = ''] = /readonly "admin:loan": (\{[^}]*\})/.exec(text) ?? []
    expect(mounted).toContain('readonly record: Loan\n')
    expect(mounted).not.toContain('filter')
  })
})

describe('the types of a resource', () => {
  const partOf = (name: string) => text.split(`\n      readonly ${name}: {\n`)[1]?.split('\n      }')[0]

  test('contain the sources and the type of each computed field', () => {
    expect(partOf('book')).toContain(`readonly computed: {
          readonly label: { readonly from: Pick<Book, "a_string" | "a_date">; readonly value: string | null }
          readonly size: { readonly from: Pick<Book, "a_json">; readonly value: bigint | number }
        }`)
    expect(partOf('loan')).toContain('readonly computed: Record<never, never>')
  })

  test('mark server-set fields', () => {
    expect(partOf('loan')).toContain('readonly serverSet: "id" | "made_at"')
  })
})

describe('the command `types`', () => {
  const run = (...args: readonly string[]) => runInHost(['types', ...args], { cwd: project.folder })
  const read = (path: string) => readFile(join(project.folder, path), 'utf8')

  test('writes the file next to the configuration, and reports if nothing changed', async () => {
    expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'wrote .snippetctl/types.d.ts\n' })
    expect(await read('.snippetctl/types.d.ts')).toBe(text)
    expect((await run()).stderr).toBe('.snippetctl/types.d.ts is up to date\n')
  })

  test('checks a committed file, and names the command that updates it (promise 14)', async () => {
    await writeFile(join(project.folder, 'kept.d.ts'), text)
    expect(await run('--check', '--out', 'kept.d.ts')).toMatchObject({ code: 0, stderr: 'kept.d.ts is up to date\n' })
    await writeFile(join(project.folder, 'kept.d.ts'), text.replace('readonly reader', 'readonly raeder'))
    const { code, stdout, stderr } = await run('--check', '--out', 'kept.d.ts')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: `kept\.d\.ts` is out of date from line \d+ on\n/)
    expect(stderr).toContain('write it again: snippetctl types --out kept.d.ts\n')
    expect(await read('kept.d.ts')).toContain('raeder')
  })
})
