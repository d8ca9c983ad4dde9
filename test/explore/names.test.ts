import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const YAML = `version: 1
api: { prefix: "", explore: true }
auth:
  roles: { names: [reader, editor, clerk, guest] }
  development: { ann: { roles: [reader] }, eve: { roles: [editor] }, cid: { roles: [clerk] }, gus: { roles: [guest] } }
  routes: { explore: anyone }
plugins: [./plugin.mjs]
models:
  city:
    table: cities
    primary_key: [country, code]
    fields:
      country: { type: string, max: 2 }
      code: { type: string, max: 5 }
      name: { type: string, max: 50 }
      iata: { type: string, max: 3, nullable: true, unique: true }
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      code: { type: string, max: 50, unique: true }
      name: { type: string, max: 200, nullable: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      author: { type: belongs_to, model: author, on_delete: cascade }
      editor: { type: belongs_to, model: author, nullable: true, on_delete: set_null }
      country: { type: string, max: 2, nullable: true }
      place: { type: string, max: 5, nullable: true }
    relations: { city: { model: city, fields: [country, place] } }
  copy:
    table: copies
    primary_key: [book, number]
    fields: { book: { type: belongs_to, model: book }, number: { type: integer } }
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      room: { type: string, max: 5 }
      row: { type: integer }
      label: { type: string, max: 50 }
    indexes: [{ fields: [room, row], unique: true }]
  loan:
    table: loans
    fields:
      id: { type: bigint, primary_key: true }
      by: { type: belongs_to, model: author, references: code }
      from: { type: belongs_to, model: city, references: iata, nullable: true }
      room: { type: string, max: 5, nullable: true }
      row: { type: integer, nullable: true }
    relations: { shelf: { model: shelf, fields: [room, row], references: [room, row] } }
resources:
  city: { model: city, path: /cities/, access: [{ to: editor, may: all }] }
  author: { model: author, path: /authors/, label_field: name, access: [{ to: editor, may: all }, { to: reader, may: read, rows: { code: a } }, { to: clerk, may: read, fields: [id, name] }, { to: guest, may: retrieve }] }
  book:
    model: book
    path: /books/
    filterable: [author]
    access: [{ to: editor, may: all }, { to: reader, may: read }]
  copy: { model: copy, path: /copies/, access: [{ to: editor, may: all }] }
  shelf: { model: shelf, path: /shelves/, label_field: label, access: [{ to: editor, may: all }] }
  loan: { model: loan, path: /loans/, access: [{ to: editor, may: all }, { to: reader, may: read }, { to: clerk, may: read }, { to: guest, may: read }] }
mounts:
  - { path: /v2, dialect: plain }
`

const STAMPED = `version: 1
api: { prefix: "", explore: true }
models:
  stamp:
    table: stamps
    fields:
      id: { type: bigint, primary_key: true }
      code: { type: string, max: 5, unique: true }
      name: { type: string, max: 50 }
  slip:
    table: slips
    fields: { id: { type: bigint, primary_key: true }, stamp: { type: belongs_to, model: stamp, references: code } }
resources:
  stamp: { model: stamp, path: /stamps/, operations: [retrieve] }
  slip: { model: slip, path: /slips/ }
`

let asked = 0
const plugin: Plugin = (app) => {
  app.use({ resource: 'city' }, (context, next) => {
    asked += 1
    return context.params['code'] === 'hid' ? { status: 404, body: {} } : next()
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, env: { NODE_ENV: 'development' }, checkResponses: false })
  const run = (text: string) => api.database.query({ text, values: [] })
  await run(
    `insert into authors (code, name) values ('a', 'Ursula <Le Guin>'), ('b', null), ('c', '${'x'.repeat(100)}')`,
  )
  await run(`insert into cities values ('it', 'a/b', 'Ersilia', 'ERS'), ('it', 'hid', 'Zora', 'ZOR')`)
  await run(`insert into books (title, author_id, editor_id, country, place) values
    ('The First City', 1, 3, 'it', 'a/b'), ('The Second', 2, null, null, null)`)
  await run('insert into copies values (1, 7)')
  await run(
    `insert into shelves (room, row, label) values ('A', 1, 'By the door'), ('A', 2, 'Upper'), ('B', 1, 'Lower')`,
  )
  await run(
    `insert into loans (by_id, from_id, room, row) values ('a', 'ERS', 'A', 2), ('b', 'ZOR', 'B', 1), ('c', null, null, null)`,
  )
})
afterAll(() => api.close())

const page = async (path: string, name = 'eve') =>
  (await api.fetch(`/explore${path}`, { headers: { authorization: `Dev ${name}` } })).text()

describe('a relation', () => {
  test.each(['/books/', '/books/1/'])('shows the name of its record and its key at %s', async (path) => {
    const html = await page(path)
    expect(html).toContain(
      '<a href="/explore/authors/1/"><span class="name">Ursula &lt;Le Guin&gt;</span> <span class="dim">1</span></a>',
    )
    expect(html).toContain(`<span class="name">${'x'.repeat(80)}…</span>`)
    expect(html).toContain('<span class="name">Ersilia</span>')
  })

  test('to a record without a name shows its key', async () => {
    expect(await page('/books/2/')).toContain('<a href="/explore/authors/2/">2</a>')
  })

  test('in a key shows the name too, and leads to the record with this key', async () => {
    expect(await page('/copies/')).toContain(
      '<a href="/explore/copies/1/7/"><span class="name">The First City</span> <span class="dim">1</span></a>',
    )
    const record = await page('/copies/1/7/')
    expect(record).toContain('<a href="/explore/books/1/"><span class="name">The First City')
    expect(record).toContain('<h1 dir="auto">copy 1, 7</h1>')
    expect(record).toContain('<a href="/explore/copies/" aria-current="true">copy</a>')
    expect(record).not.toContain('<a href="/explore/books/" aria-current')
  })

  test('names no record that the caller may not see', async () => {
    expect(await page('/books/', 'ann')).toContain('Ursula')
    expect(await page('/books/', 'ann')).not.toMatch(/xxx|Ersilia/)
  })

  test('of a resource with middleware asks as any client does', async () => {
    const before = asked
    await page('/books/1/')
    expect(asked).toBe(before + 1)
  })

  test('at a mount leads to the record at the mount', async () => {
    expect(await page('/v2/books/')).toContain('<a href="/explore/v2/authors/1/"><span class="name">Ursula')
  })
})

describe('a relation to a field outside the key', () => {
  test.each(['/loans/', '/loans/1/'])('shows the name of its record, and leads to it, at %s', async (path) => {
    const html = await page(path)
    expect(html).toContain(
      '<a href="/explore/authors/1/"><span class="name">Ursula &lt;Le Guin&gt;</span> <span class="dim">a</span></a>',
    )
    expect(html).toContain(
      '<a href="/explore/cities/it/a%2Fb/"><span class="name">Ersilia</span> <span class="dim">ERS',
    )
    expect(html).toContain('<a href="/explore/shelves/2/"><span class="name">Upper</span>')
    expect(html).not.toContain('By the door')
  })

  test('shows the name next to its input', async () => {
    expect(await page('/loans/1/')).toMatch(/ value="a"[^>]*><span class="picked"[^>]*>Ursula &lt;Le Guin&gt;</)
  })

  test('is shown for every record of a list', async () => {
    const html = await page('/loans/')
    expect(html).toContain('/explore/authors/3/')
    expect(html).toContain('/explore/shelves/3/')
  })

  test.each([
    ['another record', 'ann', '/loans/2/'],
    ['the field', 'cid', '/loans/1/'],
    ['the list', 'gus', '/loans/1/'],
  ])('names no record for a caller who may not see %s', async (_what, caller, path) => {
    const html = await page(path, caller)
    expect(html).toContain('<code class="url">/loans/')
    expect(html).toContain('200 OK')
    expect(html).not.toMatch(/Ursula|authors\/\d/)
  })

  test('names no record that a plugin hides', async () => {
    expect(await page('/loans/')).not.toMatch(/Zora|cities\/it\/hid/)
  })

  test('names no record of a resource without a list', async () => {
    const open = await startApi(STAMPED)
    await open.database.query({ text: `insert into stamps (code, name) values ('s', 'Returned')`, values: [] })
    await open.database.query({ text: `insert into slips (stamp_id) values ('s')`, values: [] })
    const html = await (await open.fetch('/explore/slips/1/')).text()
    await open.close()
    expect(html).toContain('<dt>stamp</dt><dd dir="auto">s</dd>')
    expect(html).not.toContain('Returned')
  })

  test('links to a record without a name', async () => {
    const yaml = STAMPED.replace('      name: { type: string, max: 50 }\n', '')
      .replace('code: { type: string, max: 5', 'code: { type: integer')
      .replace('operations: [retrieve]', 'operations: [list, retrieve]')
    const open = await startApi(yaml)
    try {
      await open.database.query({ text: 'insert into stamps (code) values (10)', values: [] })
      await open.database.query({ text: 'insert into slips (stamp_id) values (10)', values: [] })
      for (const path of ['/slips/', '/slips/1/'])
        expect(await (await open.fetch(`/explore${path}`)).text()).toContain('<a href="/explore/stamps/1/">10</a>')
    } finally {
      await open.close()
    }
    expect(await page('/loans/2/')).toContain('<a href="/explore/authors/2/">b</a>')
  })

  test.each([
    { type: 'citext', links: 2 },
    { type: 'text', links: 1 },
  ])('leads to a record in other letters only if the database compares them so: $type', async ({ type, links }) => {
    const yaml = STAMPED.replace('operations: [retrieve]', 'operations: [list, retrieve]').replaceAll(
      /\n {4}table/g,
      '\n    managed: false\n    table',
    )
    const database = await openTestDatabase('')
    await runSql(
      database,
      `create extension if not exists citext;
       create table stamps (id bigint generated by default as identity primary key, code ${type} unique not null, name varchar(50) not null);
       create table slips (id bigint generated by default as identity primary key, stamp_id ${type} not null);
       insert into stamps (code, name) values ('Abc', 'Returned');
       insert into slips (stamp_id) values ('aBC'), ('Abc')`,
    )
    const open = await startApi(yaml, { database })
    try {
      const html = await (await open.fetch('/explore/slips/')).text()
      expect(html.match(/<a href="\/explore\/stamps\/1\/">/g)).toHaveLength(links)
    } finally {
      await open.close()
      await database.close()
    }
  })

  test('names the records that the caller may see', async () => {
    const html = await page('/loans/', 'ann')
    expect(html).toContain('Ursula')
    expect(html).not.toMatch(/xxx|Ersilia|Upper/)
  })
})

describe('the page of a record', () => {
  test('is titled with its name', async () => {
    const html = await page('/books/1/')
    expect(html).toContain('<h1 dir="auto">The First City</h1>')
    expect(html).toContain('<title>The First City · book 1 · ')
    expect(html).toContain('<a href="/explore/books/">/books/</a> / book 1</nav>')
    expect(await page('/authors/2/')).toContain('<h1 dir="auto">author 2</h1>')
  })

  test('counts what refers to it, and says in the delete dialog what becomes of it', async () => {
    const html = await page('/authors/1/')
    expect(html).toContain('<a href="/explore/books/?author=1">book</a> <span class="dim">by author: 1</span>')
    expect(html).toContain('<h2 id="heading-delete">Delete “Ursula &lt;Le Guin&gt;”?</h2>')
    expect(html).toContain('<li>1 × book by author: they are deleted too</li>')
    expect(html).toContain('<li>book by editor: they stay, and refer to nothing then</li>')
    expect(await page('/authors/3/')).not.toContain('they are deleted too')
    expect(await page('/cities/it/a%2Fb/')).toContain('by city: the delete is rejected while there are any</li>')
  })
})

test('`label_field` must be a field that responses show', async () => {
  await expect(startApi(YAML.replace('label_field: name', 'label_field: nmae'))).rejects.toThrow('nmae')
  const hidden = YAML.replace('max: 200, nullable: true', 'max: 200, private: true, nullable: true')
  await expect(startApi(hidden)).rejects.toThrow('`label_field` cannot be `name`')
})
