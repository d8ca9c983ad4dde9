import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { makeProject } from '../support/cli.js'
import { mistakesOf } from '../support/config.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
models:
  # The people.
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, min: 2, max: 50, unique: true }
      secret: { type: string, max: 5, private: true, nullable: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author }
      status: { type: choice, choices: [draft, done], default: draft }
resources:
  author: { model: author, path: /authors/, filterable: { name: [exact, startswith] }, search: [name] }
  book:
    model: book
    path: /books/
    filterable: { author.name: [exact] }
    orderable: [status]
    pagination: { page_size: 7 }
  bare: { model: author, path: /bare/ }
  turned: { model: author, path: /turned/, orderable: [name], default_order: [-name], pagination: { style: none } }
`

let api: Api
let live: Api
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: false, env: { NODE_ENV: 'development' } })
  live = await startApi(YAML, { checkResponses: false, env: { NODE_ENV: 'production' } })
  await api.send('POST', '/authors/', { name: 'Ursula' })
})
afterAll(async () => {
  await api.close()
  await live.close()
})

const page = async (path: string, on = api) => (await on.fetch(path)).text()

describe('the home page', () => {
  test('says what it is, where it comes from, and that saving reloads it', async () => {
    const html = await page('/')
    expect(html).toContain('made from the models and resources of <code>resources.yaml</code>')
    expect(html).toMatch(
      /<dt>Declared in<\/dt><dd><code>\/[^<]+\/resources.yaml<\/code>, which <code>snippetctl serve<\/code> loads again/,
    )
    expect(html).toContain(`<dt>Stored in</dt><dd>${api.database.description}; PostgreSQL `)
    expect(html).toMatch(/PostgreSQL \d+\.\d+[^<]*, which responds in [\d.]+ ms/)
  })

  test('shows the commands that add a resource with a free name, for the file that the server has', async () => {
    const commands = async () => {
      const html = await page('/')
      const [, folder = ''] = /<dt>Declared in<\/dt><dd><code>([^<]+)\/resources.yaml</.exec(html) ?? []
      const [, text] = /<h2>Add a resource<\/h2>[^]*?<pre tabindex="0">([^<]*)</.exec(html) ?? []
      return { folder, lines: text?.split('\n') }
    }
    const linesWith = (config: string) => [
      `npx snippetctl add resource${config} event name:string! starts_on:date`,
      ...(api.database.whenPending === 'reject'
        ? [`npx snippetctl migrate plan${config} --write add_event`, `npx snippetctl migrate up${config}`]
        : []),
    ]
    const { folder, lines } = await commands()
    expect(lines).toEqual(linesWith(` --config ${folder}/resources.yaml`))
    const before = process.cwd()
    process.chdir(folder)
    try {
      expect((await commands()).lines).toEqual(linesWith(''))
    } finally {
      process.chdir(before)
    }
  })

  test('shows commands that change this configuration if it has another name', async () => {
    const project = await makeProject({ 'my books.yaml': YAML })
    const other = await startApi(join(project.folder, 'my books.yaml'), { env: { NODE_ENV: 'development' } })
    try {
      const html = await page('/', other)
      expect(html).toContain(`add resource --config &#39;${project.folder}/my books.yaml&#39; event name:`)
    } finally {
      await other.close()
      await project.remove()
    }
  })

  test('groups the digits of counts, also of estimates', async () => {
    const grow = (count: number) =>
      live.database.query({
        text: `insert into authors (name) select 'Author ' || n from generate_series(1, ${count}) n`,
        values: [],
      })
    await grow(1_234)
    expect(await page('/', live)).toContain('<td class="number">1,234</td>')
    await live.database.query({ text: 'delete from authors', values: [] })
    await grow(12_345)
    await live.database.query({ text: 'analyze authors', values: [] })
    expect(await page('/', live)).toContain('<td class="number">about 12,345</td>')
  })

  test('offers to create the first record of empty resources', async () => {
    const html = await page('/')
    expect(html).toContain('<a class="button" href="/explore/books/#create">Create your first book</a>')
    expect(html).not.toContain('first author')
    expect(await page('/explore/books/')).toContain('data-open="create">Create your first book</button>')
    expect(await page('/explore/books/?ordering=status&page_size=10')).toContain('Create your first book</button>')
    for (const path of ['/explore/authors/?search=x', '/explore/authors/?page=9'])
      expect(await page(path)).not.toContain('first author')
  })

  test('tells no paths and versions in production', async () => {
    expect(await page('/', live)).not.toMatch(/Declared in|Stored in|Add a resource|version \d/)
  })

  test('says that the database is away, with 503 (D10)', async () => {
    const other = await startApi(YAML, { checkResponses: false })
    await other.database.close()
    const response = await other.fetch('/')
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('<h2>The database does not respond</h2>')
    await other.close().catch(() => {})
  })
})

describe('a list without search, filters and orders', () => {
  test('has the lines that add them, in development', async () => {
    const html = await page('/explore/bare/')
    const [, text = ''] = /<summary>How to search, sort and filter<[^]*?<pre tabindex="0">([^<]*)</.exec(html) ?? []
    const lines = text.split('\n')
    expect(lines).toEqual(['search: [name]', 'orderable: [name]', 'filterable: [name]'])
    expect(mistakesOf(YAML.replace('path: /bare/', `path: /bare/, ${lines.join(', ')}`))).toEqual([])
    for (const [path, on] of [
      ['/explore/bare/', live],
      ['/explore/authors/', api],
      ['/explore/books/', api],
    ] as const)
      expect(await page(path, on)).not.toContain('How to search')
  })
})

describe('the schema page of a resource', () => {
  test('is linked from its pages', async () => {
    for (const path of ['/explore/authors/', '/explore/authors/1/'])
      expect(await page(path)).toContain('<a href="/explore/~schema/author">Schema</a>')
  })

  test('has fields with their rules, parameters of lists, and routes', async () => {
    const html = await page('/explore/~schema/author')
    expect(html).toContain('<dt><b>name</b> <span class="code">string</span></dt><dd><ul class="plain"><li>unique</li>')
    expect(html).toContain('<li>must be between 2 and 50 characters</li>')
    expect(html).toContain('<li><code>name</code>: exact, startswith</li>')
    expect(html).toContain('author-detail')
    expect(html).not.toContain('<dt><b>secret')
    const books = await page('/explore/~schema/book')
    expect(books).toContain('<li>refers to author</li>')
    expect(books).toContain('<li><code>author.name</code>: exact</li>')
    expect(books).toContain('default &quot;draft&quot;')
    expect(books).toContain('page_number, 7 records, at most 100')
    const turned = await page('/explore/~schema/turned')
    expect(turned).toContain('<dt>Default order</dt><dd>-name, -id</dd>')
    expect(turned).toContain('none: a list has all records')
  })

  test('shows the lines that declare it, in development', async () => {
    const html = await page('/explore/~schema/book')
    expect(html).toContain('<h3><code>models.book</code> <span class="dim">lines 11–16</span></h3>')
    expect(html).toContain(
      '<h3><code>resources.book</code> <span class="dim">lines 19–24</span></h3><pre tabindex="0">  book:\n    model: book',
    )
    expect(await page('/explore/~schema/book', live)).not.toContain('models.book')
  })

  test('of a mounted resource is linked from its pages', async () => {
    const mounted = await startApi(`${YAML}mounts: [{ path: /json-server, dialect: json-server }]\n`, {
      checkResponses: false,
    })
    try {
      const [, link = ''] = /href="([^"]+)">Schema</.exec(await page('/explore/json-server/authors/', mounted)) ?? []
      expect(await page(link, mounted)).toContain('<h1>Schema of json-server:author</h1>')
    } finally {
      await mounted.close()
    }
  })

  test('leaves out the lines of a model or resource that the file no longer has', async () => {
    const changing = await startApi(YAML, { checkResponses: false, env: { NODE_ENV: 'development' } })
    try {
      const file = /<h2>Declared in <code>([^<]+)</.exec(await page('/explore/~schema/author', changing))?.[1] ?? ''
      await writeFile(file, YAML.replace(/ {2}# The people[^]*? {2}book:/, '  book:'))
      const html = await page('/explore/~schema/author', changing)
      expect(html).toContain('<code>resources.author</code>')
      expect(html).not.toContain('<code>models.author</code>')
      await writeFile(file, '')
      expect(await page('/explore/~schema/author', changing)).not.toContain('Declared in')
    } finally {
      await changing.close()
    }
  })

  test('of an unknown resource is 404', async () => {
    expect((await api.fetch('/explore/~schema/nobody')).status).toBe(404)
  })
})
