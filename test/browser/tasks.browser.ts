import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, openChromium, openPage } from '../support/browser.js'
import { createHands, type Hands } from '../support/hands.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
plugins: [./plugin.mjs]
models:
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 100 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 200 }
      author: { type: belongs_to, model: author }
      status: { type: choice, choices: [draft, published], default: draft }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
  review:
    table: reviews
    fields: { id: { type: bigint, primary_key: true }, book: { type: belongs_to, model: book } }
resources:
  author: { model: author, path: /authors/, search: [name] }
  book:
    model: book
    path: /books/
    export: true
    bulk: [partial_update, destroy]
    filterable: { status: [exact], price: [gte, lte] }
    search: [title]
    orderable: [title, price]
    pagination: { page_size: 25, count: exact }
  review: { model: review, path: /reviews/, filterable: { book: [exact] } }
`

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.action('book', 'publish', {
    summary: 'Publish',
    output: 'record',
    handle: async ({ context, id }) => void (await context.store(books).update(id, { status: 'published' })),
  })
}

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]
let hands: Hands
let counts: ReadonlyMap<string, readonly number[]>

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const run = (text: string) => api.database.query({ text, values: [] })
const said = (words: string) => page.getByRole('status').filter({ hasText: words }).waitFor()
const button = (name: string) => page.locator('dialog[open], main').last().getByRole('button', { name, exact: true })

/** The counts of the table in docs/operations/evidence.md, by task: key presses with the keyboard alone; key presses and clicks with the pointer. */
async function readCounts(): Promise<ReadonlyMap<string, readonly number[]>> {
  const text = await readFile('docs/operations/evidence.md', 'utf8')
  const [, rows = ''] = /\| Task \| Keys alone \|[^\n]*\n[^\n]*\n((?:\|[^\n]*\n)*)/.exec(text) ?? []
  return new Map(
    rows
      .trim()
      .split('\n')
      .map((row) => row.split('|').map((cell) => cell.trim()))
      .map(([, task = '', ...cells]) => [task, cells.slice(0, 3).map(Number)] as const),
  )
}

interface Task {
  readonly name: string
  readonly path: string
  readonly before?: () => Promise<unknown>
  readonly keyboard: () => Promise<unknown>
  readonly pointer: () => Promise<unknown>
  readonly done: () => Promise<unknown>
}

const TASKS: readonly Task[] = [
  {
    name: 'find a record by a word',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('s')
      await hands.type('1234')
      await hands.press('Enter')
    },
    pointer: async () => {
      await hands.click(page.getByRole('searchbox'))
      await hands.type('1234')
      await hands.click(button('Search'))
    },
    done: () => page.getByRole('cell', { name: 'Book 1234', exact: true }).waitFor(),
  },
  {
    name: 'filter by two fields',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('s')
      await hands.tabTo('+ Filter')
      await hands.press('Enter')
      await hands.tabTo('status')
      await hands.press('p')
      await hands.tabTo('price__gte')
      await hands.type('1999')
      await hands.press('Enter')
    },
    pointer: async () => {
      await hands.click(page.getByText('+ Filter'))
      // Opening a select and picking an option are a click each.
      await hands.click(page.getByLabel('status', { exact: true }))
      await hands.pick(page.getByLabel('status', { exact: true }), 'published')
      await hands.click(page.getByLabel('price__gte'))
      await hands.type('1999')
      await hands.click(button('Apply'))
    },
    done: async () => {
      await page.waitForURL('**/explore/books/?status=published&price__gte=1999')
      expect(await page.locator('tbody tr').count()).toBe(1)
    },
  },
  {
    name: 'sort',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('r')
      await hands.tabTo('title')
      await hands.press('Enter')
    },
    pointer: () => hands.click(page.getByRole('columnheader').getByRole('link', { name: 'title' })),
    done: () => page.locator('th[aria-sort=ascending]', { hasText: 'title' }).waitFor(),
  },
  {
    name: 'jump to a page',
    path: '/books/',
    keyboard: async () => {
      await hands.tabBackTo('page')
      await hands.type('70')
      await hands.press('Enter')
    },
    pointer: async () => {
      await hands.click(page.getByLabel('page', { exact: true }), 2)
      await hands.type('70')
      await hands.click(button('Go'))
    },
    done: () => page.getByText('1,726–1,750 of 2,000').waitFor(),
  },
  {
    name: 'follow a relation and come back',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('r')
      await hands.press('ArrowDown')
      await hands.tabTo('Author 1 1')
      await hands.press('Enter')
      await page.waitForURL('**/explore/authors/1/')
      await hands.back()
    },
    pointer: async () => {
      await hands.click(page.getByRole('link', { name: 'Author 1 1' }))
      await page.waitForURL('**/explore/authors/1/')
      await hands.back()
    },
    done: () => page.waitForURL('**/explore/books/'),
  },
  {
    name: 'see what refers to a record',
    path: '/books/3/',
    keyboard: async () => {
      await hands.tabBackTo('review')
      await hands.press('Enter')
    },
    pointer: () => hands.click(page.locator('main').getByRole('link', { name: 'review' })),
    done: async () => {
      await page.waitForURL('**/explore/reviews/?book=3')
      expect(await page.locator('tbody tr').count()).toBe(2)
    },
  },
  {
    name: 'create with a relation to one of 10,000',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('n')
      await hands.type('New')
      await hands.press('Tab')
      await hands.type('9876')
      await page.getByRole('option', { name: 'Author 9876' }).waitFor()
      await hands.press('Enter')
      await hands.press('Enter')
    },
    pointer: async () => {
      await hands.click(button('New book'))
      await hands.type('New')
      await hands.click(page.getByRole('combobox', { name: 'Author' }))
      await hands.type('9876')
      await hands.click(page.getByRole('option', { name: 'Author 9876' }))
      await hands.click(button('Create'))
    },
    done: async () => {
      await said('Created')
      expect(await (await api.fetch('/books/2001/')).json()).toMatchObject({ title: 'New', author: 9876 })
    },
  },
  {
    name: 'edit a record that somebody else changed meanwhile',
    path: '/books/1/',
    before: () => run('update books set price = 5 where id = 1'),
    keyboard: async () => {
      await hands.accessKey('e')
      await hands.press('Control+a')
      await hands.type('Mine')
      await hands.press('Enter')
      await page.getByText('Somebody else has changed this record.').waitFor()
      await hands.press('Control+Enter')
    },
    pointer: async () => {
      await hands.click(button('Edit'))
      await hands.click(page.getByLabel('Title'), 3)
      await hands.type('Mine')
      await hands.click(button('Save'))
      await page.getByText('Somebody else has changed this record.').waitFor()
      await hands.click(button('Overwrite'))
    },
    done: async () => {
      await said('Saved')
      expect(await (await api.fetch('/books/1/')).json()).toMatchObject({ title: 'Mine', price: '5.00' })
    },
  },
  {
    name: 'delete several',
    path: '/books/',
    keyboard: async () => {
      await hands.accessKey('r')
      for (const _ of [1, 2]) {
        await hands.press('ArrowDown')
        await hands.press('Space')
      }
      await hands.press('Delete')
      await hands.tabTo('Delete')
      await hands.press('Enter')
    },
    pointer: async () => {
      for (const id of [1, 2]) await hands.click(page.getByLabel(`Select Book ${id} (${id})`))
      await hands.click(button('Delete…'))
      await hands.click(button('Delete'))
    },
    done: async () => {
      await said('2 records deleted')
      for (const id of [1, 2]) expect((await api.fetch(`/books/${id}/`)).status).toBe(404)
    },
  },
  {
    name: 'run an action',
    path: '/books/1/',
    keyboard: async () => {
      await hands.accessKey('a')
      await page.getByRole('heading', { name: 'Publish' }).waitFor()
      await hands.press('Enter')
    },
    pointer: async () => {
      await hands.click(button('Publish'))
      await hands.click(button('Run'))
    },
    done: async () => {
      await said('Publish: done')
      expect(await (await api.fetch('/books/1/')).json()).toMatchObject({ status: 'published' })
    },
  },
  {
    name: 'copy curl',
    path: '/books/?status=draft',
    keyboard: () => hands.accessKey('c'),
    pointer: () => hands.click(button('Copy curl')),
    done: async () => {
      await said('Copied')
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`curl -s '${api.url}/books/?status=draft'`)
    },
  },
  {
    name: 'export',
    path: '/books/?price__gte=1500',
    keyboard: async () => {
      await hands.accessKey('s')
      await hands.tabTo('Download CSV')
      await hands.press('Enter')
    },
    pointer: () => hands.click(page.getByRole('link', { name: 'Download CSV' })),
    done: async () => {
      const text = await readFile(await hands.downloaded(), 'utf8')
      expect(text.split('\r\n')).toHaveLength(1 + 501 + 1)
    },
  },
  {
    // The address is all of the view: copying it takes a shortcut or a click of the browser, which has no page to count them.
    name: 'share the view',
    path: '/books/?search=Book&status=draft&ordering=-price&page=3&page_size=10',
    keyboard: async () => {},
    pointer: async () => {},
    done: async () => {
      const rows = await page.locator('tbody').innerText()
      const other = await context.newPage()
      await other.goto(page.url())
      expect(await other.locator('tbody').innerText()).toBe(rows)
      expect(rows.split('\n').at(0)).toContain('Book 1959')
      await other.close()
    },
  },
]

describeInChromium('each task in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { plugin, checkResponses: false })
    context = await openChromium({ width: 1440, height: 900 })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: api.url })
    counts = await readCounts()
    await run(`insert into authors (name) select 'Author ' || n from generate_series(1, 10000) n`)
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    await run('truncate books, reviews restart identity cascade')
    await run(`insert into books (title, author_id, price, status)
      select 'Book ' || n, n, n, case n % 2 when 0 then 'published' else 'draft' end from generate_series(1, 2000) n`)
    await run('insert into reviews (book_id) values (3), (3), (4)')
    ;({ page, complaints } = await openPage(context, api.url))
    hands = await createHands(page)
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  describe.each(TASKS)('$name', ({ name, path, before, keyboard, pointer, done }) => {
    test('takes as many keys as documented, without a pointer', async () => {
      await open(path)
      await before?.()
      await keyboard()
      await done()
      expect([hands.keys(), hands.clicks()]).toEqual([counts.get(name)?.[0], 0])
    })

    test('takes as many clicks and keys as documented, with a pointer', async () => {
      await open(path)
      await before?.()
      await pointer()
      await done()
      expect([hands.clicks(), hands.keys()]).toEqual(counts.get(name)?.slice(1))
    })
  })
})
