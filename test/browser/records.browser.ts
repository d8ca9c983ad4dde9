import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
models:
  author:
    table: authors
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 100 } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      notes: { type: string, max: 100, nullable: true }
      extra: { type: json, nullable: true }
      seen: { type: timestamp, nullable: true }
      author: { type: belongs_to, model: author }
      shelf: { type: belongs_to, model: shelf, nullable: true }
  remark:
    table: remarks
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      notes: { type: string, max: 100 }
      seen: { type: timestamp }
      shelf: { type: belongs_to, model: shelf, nullable: true }
  shelf:
    table: shelves
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 20 } }
resources:
  remark: { model: remark, path: /remarks/ }
  shelf: { model: shelf, path: /shelves/, pagination: { style: none }, search: [name] }
  author: { model: author, path: /authors/ }
  book: { model: book, path: /books/, concurrency: required, expand: [author] }
`

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const run = (text: string) => api.database.query({ text, values: [] })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const input = (name: string) => page.getByLabel(name, { exact: true })
/** Waits for a message: the script shows it after the browser has shown the page. */
const said = (text: string) =>
  page
    .getByRole('status')
    .and(page.getByText(text, { exact: true }))
    .waitFor()
/** A promise, and what resolves it. */
const gate = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
const stored = async () => (await run('select title, notes, extra::text from books')).rows

describeInChromium('a record in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    context = await openChromium()
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    await run('truncate books, remarks, authors, shelves restart identity cascade')
    await run(`insert into authors (name) values ('Ursula')`)
    await run(`insert into books (title, extra, author_id) values ('Always', '{"a": 1, "b": 2}', 1)`)
    ;({ page, complaints } = await openPage(context, api.url))
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test('is edited and deleted where changes need its version (D1)', async () => {
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('Home')
    await button('Save').click()
    await page.getByText('Home').first().waitFor()
    await said('Saved')
    await button('Delete').click()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Cancel')
    await page.locator('#delete').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.waitForURL('**/explore/books/')
    await said('Deleted')
  })

  test('is edited from a page that shows some of its fields', async () => {
    await open('/books/1/?expand=author')
    await button('Edit').click()
    expect(await input('Author').inputValue()).toBe('1')
    await input('Title').fill('Home')
    await button('Save').click()
    await page.getByText('Home').first().waitFor()
    expect(await stored()).toEqual([['Home', null, '{"a": 1, "b": 2}']])
  })

  test('shows all of the message about a conflict where the form has to be scrolled', async () => {
    await page.setViewportSize({ width: 620, height: 500 })
    await open('/books/1/')
    await button('Edit').click()
    await page.getByRole('combobox', { name: 'Shelf' }).fill('7')
    await run(`update books set notes = 'theirs'`)
    await button('Save').click()
    await page.getByText('Somebody else has changed this record.').waitFor()
    const top = async (selector: string) =>
      (await page.locator(`dialog[open] ${selector}`).first().boundingBox())?.y ?? 0
    expect((await top('.alert')) - (await top('.fields'))).toBeGreaterThanOrEqual(15)
  })

  test('keeps what somebody else changed meanwhile, and says what it was (D2)', async () => {
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('Mine')
    await run(`update books set notes = 'theirs', extra = '{"b": 9007199254740993}'`)
    await button('Save').click()
    await page.getByText('Somebody else has changed this record.').waitFor()
    const table = page.locator('.alert table')
    expect(await table.getByRole('row').allInnerTexts()).toEqual([
      'Field\tBefore\tNow\tWith your changes',
      'notes\tnull\ttheirs\ttheirs',
      expect.stringMatching(/^extra\t[^\t]+\t[^\t]+9007199254740993[^\t]+\t/),
    ])
    expect(await findFaults(page)).toEqual([])
    expect(await stored()).toEqual([['Always', 'theirs', '{"b": 9007199254740993}']])
    await button('Overwrite').click()
    await page.getByText('Mine').first().waitFor()
    expect(await stored()).toEqual([['Mine', 'theirs', '{"b": 9007199254740993}']])
  })

  test.each([{ table: 'books' }, { table: 'remarks' }])(
    'keeps a value that the first input of its field cannot hold, in $table',
    async ({ table }) => {
      const notes = 'one\ntwo\nthree'
      await run(`delete from ${table}`)
      await run(
        `insert into ${table} (id, title, notes, seen${table === 'books' ? ', author_id' : ''})
        overriding system value values (5, 'Always', 'one', '2024-01-01T00:00:00Z'${table === 'books' ? ', 1' : ''})`,
      )
      await open(`/${table}/5/`)
      await button('Edit').click()
      await input('Title').fill('Mine')
      await run(`update ${table} set notes = e'one\\ntwo', seen = '2024-06-06T01:02:03.123456Z'`)
      await button('Save').click()
      await page.getByText('Somebody else has changed this record.').waitFor()
      expect(await input('Notes').inputValue()).toBe('one\ntwo')
      expect(await input('Seen').inputValue()).toBe('2024-06-06T01:02:03.123456Z')
      await run(`update ${table} set notes = e'${notes.replaceAll('\n', '\\n')}'`)
      await button('Overwrite').click()
      await button('Overwrite').click()
      await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor()
      const { rows } = await run(`select title, notes, seen = '2024-06-06T01:02:03.123456Z' from ${table}`)
      expect(rows).toEqual([['Mine', notes, 't']])
      await button('Edit').click()
      await input('Notes').fill('after')
      await button('Save').click()
      await said('Saved')
    },
  )

  test('shows a conflict whole on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('Mine')
    await run(`update books set notes = '${'long'.repeat(20)}'`)
    await button('Save').click()
    await page.locator('.alert table').waitFor()
    expect(await page.locator('dialog[open] .fields').evaluate((part) => part.scrollWidth <= part.clientWidth)).toBe(
      true,
    )
  })

  test('shows both values of a field that two people changed, and can be loaded again', async () => {
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('Mine')
    await run(`update books set title = 'Theirs'`)
    await button('Save').click()
    const row = page.locator('.alert table').getByRole('row', { name: 'title' })
    expect(await row.innerText()).toBe('title\tAlways\tTheirs\tMine')
    await button('Reload').click()
    await page.locator('dl.record').getByText('Theirs').waitFor()
    expect(await page.locator('dialog[open]').count()).toBe(0)
  })

  test('is not deleted unseen after somebody else changed it', async () => {
    await open('/books/1/')
    await button('Delete').click()
    await run(`update books set title = 'Theirs'`)
    const dialog = page.locator('#delete')
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog.getByText('Theirs').waitFor()
    expect(await stored()).toHaveLength(1)
    await dialog.getByRole('button', { name: 'Delete anyway' }).click()
    await page.waitForURL('**/explore/books/')
    expect(await stored()).toEqual([])
  })

  test('that was deleted meanwhile says so', async () => {
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('Mine')
    await run('delete from books')
    await button('Save').click()
    await page.getByText(/404 Not found/i).waitFor()
  })

  test('forgets what was typed before Cancel (D6)', async () => {
    await open('/books/1/')
    await button('Edit').click()
    await input('Title').fill('x'.repeat(101))
    await input('Notes').fill('new')
    await button('Save').click()
    await page.getByText('1 field to correct').waitFor()
    await button('Cancel').click()
    await button('Edit').click()
    expect(await input('Title').inputValue()).toBe('Always')
    expect(await input('Notes is null').isChecked()).toBe(true)
    expect(await page.locator('[aria-invalid]').count()).toBe(0)
  })

  test('asks for a relation without a number pad, and says which fields are required (D7)', async () => {
    await open('/books/')
    await button('New book').click()
    expect(await input('Author').getAttribute('inputmode')).toBeNull()
    expect(await input('Author').getAttribute('aria-required')).toBe('true')
    expect(await input('Notes').getAttribute('aria-required')).toBeNull()
  })

  test('proposes records of a list without pages (D8)', async () => {
    await run(`insert into shelves (name) values ('North'), ('South'), ('East')`)
    await open('/books/')
    await button('New book').click()
    const proposals = page.getByRole('option')
    await page.getByRole('combobox', { name: 'Shelf' }).click()
    await proposals.nth(2).waitFor()
    await page.keyboard.type('sou')
    await page.locator('#create-shelf-list > :only-child').waitFor()
    expect(await proposals.textContent()).toBe('South 2')
    expect(await findFaults(page)).toEqual([])
    await page.keyboard.press('Enter')
    expect(await page.getByRole('combobox', { name: 'Shelf' }).inputValue()).toBe('2')
    expect(await page.locator('.picked').filter({ hasText: 'South' }).count()).toBe(1)
  })

  test('names what refers to it by a relation without a filter (D12)', async () => {
    await run(`insert into shelves (name) values ('North')`)
    await open('/shelves/1/')
    await page.getByText('book by shelf: not counted, because the list of book has no filter for shelf').waitFor()
    expect(await findFaults(page)).toEqual([])
  })

  test('stays open while it is saved, and is saved once', async () => {
    await open('/books/1/')
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let requests = 0
    await page.route('**/books/1/', async (route) => {
      if (route.request().method() === 'GET') return route.fallback()
      requests += 1
      await held
      return route.fallback()
    })
    await button('Edit').click()
    await input('Title').fill('Mine')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await button('Saving…').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await page.locator('dialog[open]').count()).toBe(1)
    release()
    await page.locator('dl.record').getByText('Mine').waitFor()
    expect(requests).toBe(1)
  })

  test('has its name on the left, also if the name is read from right to left', async () => {
    await run(`update books set title = 'مدينة'`)
    await open('/books/1/')
    const name = page.getByRole('heading', { level: 1, name: 'مدينة' })
    const [heading, text] = await name.evaluate((element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return [element, range].map((each) => each.getBoundingClientRect().left)
    })
    expect(text).toBe(heading)
  })

  test('is created once although its request and the next page are slow', async () => {
    await open('/authors/')
    let requests = 0
    const [created, leaving, shown] = [gate(), gate(), gate()]
    await page.route('**/authors/', async (route) => {
      if (route.request().method() === 'POST') {
        requests += 1
        await created.opened
      }
      return route.fallback()
    })
    await page.route('**/explore/authors/2/', async (route) => {
      leaving.open()
      await shown.opened
      return route.fallback()
    })
    await button('New author').click()
    await input('Name').fill('Octavia')
    await page.keyboard.press('Enter')
    await button('Creating…').waitFor()
    expect(await button('Creating…').isDisabled()).toBe(true)
    expect(await button('Cancel').isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await page.locator('dialog[open]').count()).toBe(1)
    created.open()
    await leaving.opened
    await page.keyboard.press('Control+Enter')
    shown.open()
    await page.waitForURL('**/explore/authors/2/')
    expect(requests).toBe(1)
  })

  test('can be saved again after the network failed', async () => {
    await open('/books/1/')
    await page.route('**/books/1/', (route) => (route.request().method() === 'PUT' ? route.abort() : route.fallback()))
    await button('Edit').click()
    await input('Title').fill('Mine')
    await button('Save').click()
    await page.getByText('No response: Failed to fetch').waitFor()
    expect(await input('Title').inputValue()).toBe('Mine')
    expect(await findFaults(page)).toEqual([])
    await page.unroute('**/books/1/')
    await button('Save').click()
    await page.locator('dl.record').getByText('Mine').waitFor()
    expect(await stored()).toEqual([['Mine', null, '{"a": 1, "b": 2}']])
  })
})
