import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { loadApplication, renderTypes } from '../../src/internal.js'
import { SNIPPETS_FILE } from '../support/api.js'
import { makeProject } from '../support/cli.js'
import { compileFiles } from '../support/compiler.js'
import { blocksOf } from '../support/pages.js'

/** The types of the application of a file, as `snippetctl types` writes them. */
async function typesOf(file: string): Promise<string> {
  const loaded = await loadApplication({ file, env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  return renderTypes(loaded.app)
}

async function typesOfYaml(yaml: string, plugin = ''): Promise<string> {
  const project = await makeProject({ 'resources.yaml': yaml, 'plugin.mjs': plugin })
  try {
    return await typesOf(`${project.folder}/resources.yaml`)
  } finally {
    await project.remove()
  }
}

const RIGHT = `import { type Plugin, Problem, type Resource } from 'snippetctl'
import type { Snippet, SnippetRow } from './types.js'

const plugin: Plugin = (app) => {
  const snippets = app.resource('snippet')
  const untyped: Resource = snippets
  app.route('GET', '/first/{id}/', 'first', async (context) => {
    const id: bigint | undefined = snippets.parseId(context.params['id'] ?? '')
    const row: Snippet | undefined = id === undefined ? undefined : await context.store(snippets).retrieve(id)
    if (!row) throw new Problem('not_found')
    const whatever: unknown = (await context.store(untyped).retrieve(1n))?.['whatever']
    await context.transaction(async ({ store }) => store(snippets).update(row.id, { title: row.title }))
    const made = await context.store(snippets).create({ title: row.title, code: 'x', language: 'y' })
    const { plan } = snippets.parseList({ title: 'a,b', ordering: ['-created_at', 'title'], page: 2 })
    const next: bigint | undefined = (await context.store(snippets).list(plan)).items[0]?.id
    const titles: string[] = (await context.models.snippet.query().where('id', '>', '1')).map(({ title }) => title)
    const ids: bigint[] = await context.knex<SnippetRow>('snippets').whereIn('title', titles).pluck('id')
    await context.models.snippet.query().insert({ title: 'x', code: String(ids[0]) })
    const links = [context.reverse('snippet-list'), context.reverse('snippet-detail', { id: made.id + 1n })]
    return { status: 200, body: { whatever, next, links } }
  })
  app.hooks('snippet', {
    beforeCreate: ({ values }) => ({ title: values.title?.trim() ?? '' }),
    afterUpdate({ id, record, previous }) {
      if (record.title === previous.title && id > 0n) throw new Problem('conflict')
    },
  })
  app.hooks<{ readonly id: bigint }>('snippet', { afterCreate: ({ record }) => void (record.id + 1n) })
  app.action('snippet', 'archive', {
    summary: 'Archive',
    async handle({ context, id, record }) {
      await context.store(snippets).update(id, { title: record.title })
    },
  })
  app.action<{ readonly days: number }, { readonly until: string }>('snippet', 'extend', {
    summary: 'Extend',
    input: { days: { type: 'integer' } },
    output: { until: { type: 'string' } },
    handle: ({ input, record }) => ({ until: record.title + String(input.days + 1) }),
  })
  app.action('snippet', 'print', {
    summary: 'Print',
    input: {
      copies: { type: 'integer', default: 1 },
      size: { type: 'choice', choices: ['a4', 'a5'] },
      price: { type: 'decimal', precision: 6, scale: 2 },
      note: { type: 'string', nullable: true },
      extra: { type: 'json', nullable: true },
    },
    async handle({ context, id, record, input }) {
      const pages: number = input.copies + 1
      const size: 'a4' | 'a5' = input.size
      const note: string | null = input.note
      await context.store(snippets).update(id, { title: [record.title, pages, size, input.price.length, note, input.extra?.text].join() })
    },
  })
  app.replace('snippet', 'partial_update', ({ id, values }) => ({ status: 200, body: [id + 1n, values.title] }))
}

export default plugin
`

/** Each line with a mistake ends with the expected compiler message after \`//\`. */
const WRONG = `import type { Plugin } from 'snippetctl'

const plugin: Plugin = (app) => {
  const snippets = app.resource('snippet')
  app.resource('snipet') // '"snippet"'
  app.route('GET', '/first/{id}/', 'first', async (context) => {
    const row = await context.store(snippets).retrieve(1n)
    await context.store(snippets).retrieve(1) // 'bigint'
    await context.store(snippets).update(1n, { titel: 'x' }) // 'title'
    await context.store(snippets).create({ title: 'x' }) // code, language
    context.reverse('snippet-detail') // Expected 2 arguments
    context.reverse('snippet-detail', {}) // 'id' is missing
    context.reverse('snippet-detail', { id: 1 }) // 'number'
    context.reverse('snippet-list', { id: 1n }) // 'never'
    context.reverse('snippet-lists') // "snippet-list"
    snippets.parseList({ titel: 'x' }) // 'title'
    snippets.parseList({ ordering: 'code' }) // "-created_at"
    context.models.snipet // 'snippet'
    await context.models.snippet.query().insert({ titel: 'x' }) // No overload
    return { status: 200, body: row?.titel } // 'title'
  })
  app.hooks('snippet', {
    beforeCreate: ({ values }) => ({ title: values.titel ?? '' }), // 'title'
    beforeUpdate: () => ({ titel: 'x' }), // titel
    afterUpdate: ({ record }) => void record.titel, // 'title'
  })
  app.action('snippet', 'archive', { summary: 'x', handle: ({ record }) => void record.titel }) // 'title'
  app.action('snippet', 'extend', { summary: 'x', input: { days: { type: 'integer' } }, handle: ({ input }) => void input.day }) // 'day'
  app.action('snippet', 'rename', { summary: 'x', input: { to: { type: 'string', nullable: true } }, handle: ({ input }) => void input.to.length }) // 'input.to' is possibly 'null'
  app.replace('snippet', 'create', ({ values }) => ({ status: 201, body: values.titel })) // 'title'
}

export default plugin
`

const EXPECTED = WRONG.split('\n').flatMap((line, index) => {
  const [, part] = / \/\/ (.*)/.exec(line) ?? []
  return part === undefined ? [] : [[index + 1, part] as const]
})

const NAMES_THAT_CLASH = `version: 1
models:
  json: { fields: { id: { type: bigint, primary_key: true }, value: { type: json } } }
  record: { fields: { id: { type: uuid, primary_key: true }, class: { type: string, max: 9, message: "*/ export {} /*" } } }
  book: { fields: { id: { type: integer, primary_key: true }, "kind": { type: choice, choices: ["it's", 'a"b', "a\\\\b", "*/", "\\u2028"] } } }
  omit: { fields: { code: { type: string, max: 9, primary_key: true, key: client }, note: { type: text } } }
  book_create: { fields: { id: { type: uuid, primary_key: true }, record: { type: belongs_to, model: record, nullable: true } } }
resources:
  record: { model: record, path: /records/ }
  book: { model: book, path: /books/, filterable: { kind: [exact, in] } }
  book_create: { model: book_create, path: /book-creates/ }
  omit: { model: omit, path: /omits/ }
mounts:
  - { path: /admin, dialect: simple-rest }
`

const SNIPPETS = ['plugin', 'highlight', 'worker', 'operations'].map(
  (name) => [`${name}.ts`, readFileSync(`src/snippets/${name}.ts`, 'utf8')] as const,
)

describe('plugins with generated types (promise 14)', () => {
  let said: readonly string[]
  beforeAll(async () => {
    const types = await typesOf(SNIPPETS_FILE)
    said = await compileFiles({
      'types.ts': types,
      'right.ts': RIGHT,
      'wrong.ts': WRONG,
      ...Object.fromEntries(SNIPPETS),
    })
  })

  test('compile if they are correct', () => {
    expect(said.filter((line) => !line.startsWith('wrong.ts'))).toEqual([])
  })

  test('do not compile if they misspell a column, a route or a resource, or omit a parameter', () => {
    const mistakes = said.filter((line) => line.startsWith('wrong.ts'))
    expect(mistakes.map((line) => Number(/^wrong\.ts:(\d+)/.exec(line)?.[1]))).toEqual(EXPECTED.map(([line]) => line))
    for (const [index, [, part]] of EXPECTED.entries()) expect(mistakes[index]).toContain(part)
  })

  test('compile without generated types as before', async () => {
    const blocks = blocksOf(readFileSync('docs/plugins.md', 'utf8'))
    const declared = blocks.find(({ language }) => language === 'yaml')?.text ?? ''
    const types = await typesOfYaml(
      declared.replace(/^plugins:\n.*\n/m, 'plugins: [./plugin.mjs]\n'),
      "export default (app) => app.compute('book', 'full_title', () => '')",
    )
    const plugins = blocks.filter(({ language }) => language === 'ts').map(({ text }, index) => [`p${index}.ts`, text])
    expect(plugins.length).toBeGreaterThan(5)
    expect(await compileFiles({ 'types.ts': types, ...Object.fromEntries(plugins) })).toEqual([])
  })

  test('compile as in the documentation', async () => {
    const blocks = blocksOf(readFileSync('docs/types.md', 'utf8'))
    const types = await typesOfYaml(blocks.find(({ language }) => language === 'yaml')?.text ?? '')
    const plugin = blocks.find(({ language }) => language === 'typescript')?.text ?? ''
    const misspelt = plugin.replace('other.price', 'other.prize')
    expect(await compileFiles({ 'types.ts': types, 'plugin.ts': plugin, 'misspelt.ts': misspelt })).toEqual([
      expect.stringMatching(
        /^misspelt\.ts:\d+ Property 'prize' does not exist on type 'Book'\. Did you mean 'price'\?$/,
      ),
    ])
  })

  test('have the sources of computed fields, and cannot set server-set fields', async () => {
    const declared = `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 9 }
      hash: { type: string, max: 9, private: true, default: '' }
      made_at: { type: timestamp, auto: on_create }
resources:
  book: { model: book, path: /books/, computed: { label: { from: [title, hash], type: string } } }
  shelf: { model: book, path: /shelves/ }
plugins: [./plugin.mjs]
`
    const plugin = (lines: string) => `import type { Plugin } from 'snippetctl'
const plugin: Plugin = (app) => {
${lines}
}
export default plugin
`
    const right = plugin(`  app.compute('book', 'label', ({ title, hash }) => title.trim() + hash)
  app.compute<{ readonly title: string }>('book', 'label', ({ title }) => title)
  app.hooks('book', {
    beforeCreate: ({ values }) => ({ ...values, title: values.title?.trim() ?? '' }),
    beforeUpdate: async ({ record, values }) => (record.made_at < '2020' ? { title: values.title ?? 'old' } : undefined),
  })`)
    const wrong = plugin(`  app.compute('book', 'label', ({ made_at }) => made_at)
  app.compute('book', 'label', ({ title }) => title.length)
  app.compute('book', 'lable', () => '')
  app.compute('shelf', 'label', () => '')
  app.hooks('book', { beforeCreate: () => ({ title: 'x', made_at: '2020-01-01T00:00:00Z' }) })
  app.hooks('book', { beforeUpdate: () => ({ title: 'x', id: 1n }) })
  app.hooks('book', { beforeUpdate: ({ values }) => ({ title: values.made_at ?? '' }) })`)
    const types = await typesOfYaml(declared, "export default (app) => app.compute('book', 'label', () => '')")
    const said = await compileFiles({ 'types.ts': types, 'right.ts': right, 'wrong.ts': wrong })
    expect(said).toEqual([
      expect.stringMatching(/^wrong\.ts:3 Property 'made_at' does not exist on type/),
      expect.stringMatching(/^wrong\.ts:4 Type 'number' is not assignable to type 'string'/),
      expect.stringMatching(/^wrong\.ts:5 .*'"lable"' is not assignable to parameter of type '"label"'/),
      expect.stringMatching(/^wrong\.ts:6 .*'"label"' is not assignable to parameter of type 'never'/),
      expect.stringMatching(/^wrong\.ts:7 .*made_at/),
      expect.stringMatching(/^wrong\.ts:8 .*id/),
      expect.stringMatching(/^wrong\.ts:9 Property 'made_at' does not exist on type/),
    ])
  })

  test('compile for models without server-set fields', async () => {
    const declared = `version: 1
models:
  country: { fields: { code: { type: char, length: 2, primary_key: true, key: client }, name: { type: string, max: 9 } } }
  reading: { primary_key: none, fields: { value: { type: float } } }
resources:
  country: { model: country, path: /countries/ }
  reading: { model: reading, path: /readings/, operations: [list] }
`
    const plugin = `import type { Plugin } from 'snippetctl'
const plugin: Plugin = (app) => {
  app.hooks('country', { beforeCreate: ({ values }) => ({ name: values.name ?? '' }) })
}
export default plugin
`
    const files = { 'types.ts': await typesOfYaml(declared), 'plugin.ts': plugin }
    expect(await compileFiles(files, { skipLibCheck: false })).toEqual([])
  })

  test('are typed for any names and texts in the file', async () => {
    const use = `import type { Book, BookCreate_2, Omit_2Change, Record_2, Json_2 } from './types.js'
export const all: readonly [Book['kind'], Record_2['id'], Json_2['id'], BookCreate_2['record'], Omit_2Change] = ['*/', 'x', 1n, null, { note: 'x' }]
`
    expect(await compileFiles({ 'types.ts': await typesOfYaml(NAMES_THAT_CLASH), 'use.ts': use })).toEqual([])
  })
})
