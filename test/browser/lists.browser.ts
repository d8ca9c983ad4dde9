import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const FIELDS = Array.from(
  { length: 30 },
  (_, index) => `      field_${index}: { type: string, max: 30, default: value }`,
)
const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 200 }
      status: { type: choice, choices: [draft, published], default: draft }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
      copies: { type: bigint, nullable: true }
  review:
    table: reviews
    fields: { id: { type: bigint, primary_key: true }, book: { type: belongs_to, model: book } }
  wide:
    table: wides
    fields:
      id: { type: bigint, primary_key: true }
${FIELDS.join('\n')}
resources:
  book:
    model: book
    path: /books/
    export: true
    bulk: [partial_update, destroy]
    bulk_max: 3
    filterable: { status: [exact], price: [gte, lte], title: [exact, contains, startswith], copies: [gte, lte] }
    search: [title]
    orderable: [title, price]
    pagination: { page_size: 25, count: exact }
  review: { model: review, path: /reviews/ }
  wide: { model: wide, path: /wide/, sparse_fields: true }
`

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const run = (text: string) => api.database.query({ text, values: [] })
const evaluate = <T>(code: string) => page.evaluate<T>(code)

describeInChromium('lists in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    context = await openChromium({ width: 1440, height: 900 })
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    await run('truncate books, reviews, wides restart identity cascade')
    await run(
      `insert into books (title, price, copies) select 'Book ' || n, n, n * 1000 from generate_series(1, 2000) n`,
    )
    await run('insert into reviews (book_id) values (1), (1), (2)')
    await run('insert into wides select from generate_series(1, 30)')
    ;({ page, complaints } = await openPage(context, api.url))
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test.each([
    [1440, 900],
    [390, 844],
  ])('show their first record without scrolling at %d pixels', async (width, height) => {
    await page.setViewportSize({ width, height })
    for (const path of ['/books/', '/books/?search=Book&status=draft&price__gte=1', '/wide/']) {
      await open(path)
      const { bottom } = await evaluate<{ bottom: number }>(
        "document.querySelector('tbody tr').getBoundingClientRect().toJSON()",
      )
      expect(bottom).toBeLessThan(height)
      expect(await evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    }
  })

  test('are used by keys: arrows, Enter, Space and Delete, none of which changes a record by itself', async () => {
    await open('/books/')
    const region = page.getByRole('region', { name: 'Records' })
    expect(await region.getAttribute('accesskey')).toBe('r')
    await region.focus()
    await page.keyboard.press('Delete')
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await page.keyboard.press('ArrowUp')
    expect(await evaluate('document.activeElement.getAttribute("role")')).toBe('region')
    for (let row = 0; row < 24; row += 1) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.keyboard.press('ArrowDown')
    expect(await evaluate('document.activeElement.dataset.id')).toBe('25')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.keyboard.press('Delete')
    await page.getByRole('heading', { name: 'Delete 2 records?' }).waitFor()
    expect(await page.getByRole('list', { name: 'Selected records' }).innerText()).toBe('Book 24 (24)\nBook 25 (25)')
    expect(await evaluate('document.activeElement.textContent')).toBe('Cancel')
    await page.keyboard.press('Enter')
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await region.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore/books/1/')
    expect((await run('select count(*) from books')).rows).toEqual([['2000']])
  })

  test('without checkboxes move from link to link', async () => {
    await open('/reviews/')
    await page.getByRole('region', { name: 'Records' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore/reviews/2/')
  })

  test('keep the key and its heading in view, one above the other', async () => {
    await open('/wide/')
    await evaluate("document.querySelector('.table').scrollTo(700, 0)")
    const left = (selector: string) =>
      evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().left`)
    const edge = await left('.table')
    for (const selector of ['thead th', 'tbody th']) expect((await left(selector)) - edge).toBeLessThan(2)
    expect(
      await evaluate(
        'document.elementFromPoint(...(({ left, top }) => [left + 9, top + 9])(document.querySelector(".table").getBoundingClientRect())).textContent',
      ),
    ).toBe('id')
  })

  test('show the start of a name that is read from right to left', async () => {
    await run(`update books set title = repeat('مدن الملح ', 12) where id = 1`)
    await open('/reviews/')
    const directions = await evaluate(
      "[...document.querySelectorAll('tbody tr')].map((row) => getComputedStyle(row.querySelector('td')).direction)",
    )
    expect(directions).toEqual(['rtl', 'rtl', 'ltr'])
  })

  test('show on a phone the start of every text', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await run(`update books set title = repeat('مدن الملح ', 12) where id = 1`)
    await open('/books/')
    expect(
      await evaluate('document.querySelector("tbody tr td:nth-child(3)").getBoundingClientRect().right'),
    ).toBeLessThan(390)
    const isReadFromRight = async () => (await evaluate('getComputedStyle(document.activeElement).direction')) === 'rtl'
    await page.getByRole('searchbox').fill('مدن')
    expect(await isReadFromRight()).toBe(true)
    await page.getByRole('button', { name: 'New book' }).click()
    await page.keyboard.type('مدن')
    expect(await isReadFromRight()).toBe(true)
  })

  test('keep the page size when a filter is applied (D11)', async () => {
    await open('/books/?page=2&page_size=50')
    await page.getByText('+ Filter').click()
    await page.getByLabel('price__gte').fill('1000')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL('**/explore/books/?price__gte=1000&page_size=50')
    await page.getByRole('link', { name: 'Remove price__gte: 1000' }).click()
    await page.waitForURL('**/explore/books/?page_size=50')
  })

  test('show a filter that is wrong, with the focus on it', async () => {
    await open('/books/?price__gte=cheap')
    const input = page.getByRole('textbox', { name: 'price__gte' })
    expect(await input.isVisible()).toBe(true)
    expect(await evaluate('document.activeElement.id')).toBe('filter-price__gte')
    expect(await input.getAttribute('aria-invalid')).toBe('true')
    expect(await findFaults(page)).toEqual([])
  })

  test('go to a page by its number, and change the size of pages', async () => {
    await open('/books/')
    await page.getByLabel('page', { exact: true }).fill('70')
    await page.keyboard.press('Enter')
    await page.getByText('1,726–1,750 of 2,000').waitFor()
    // The script listens once it is loaded.
    await page.waitForLoadState()
    await page.getByLabel('per page').selectOption('100')
    await page.getByText('1–100 of 2,000').waitFor()
  })

  test('hide the columns that a reader chose, for this resource', async () => {
    await open('/wide/')
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('field_1', { exact: true }).uncheck()
    expect(await page.getByRole('columnheader', { name: 'field_1', exact: true }).isVisible()).toBe(false)
    await page.reload()
    expect(await page.getByRole('columnheader', { name: 'field_1', exact: true }).isVisible()).toBe(false)
    expect(await page.getByRole('columnheader', { name: 'field_29' }).count()).toBe(1)
    await open('/books/')
    expect(await page.getByText('Columns', { exact: true }).count()).toBe(1)
    await open('/wide/?fields=id,field_2')
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('field_2', { exact: true }).uncheck()
    await page.getByLabel('field_2', { exact: true }).check()
    await open('/wide/')
    await page.getByText('Columns (1 hidden)').click()
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Show all' }).click()
    expect(await page.getByRole('columnheader', { name: 'field_1', exact: true }).isVisible()).toBe(true)
  })

  test('keep the heading and the key in sight', async () => {
    await open('/wide/')
    await evaluate("document.querySelector('.table').scrollTo(900, 400)")
    const at = (selector: string) =>
      evaluate<{ top: number; left: number }>(`document.querySelector('${selector}').getBoundingClientRect().toJSON()`)
    const [frame, head, key] = [
      await at('.table'),
      await at('thead th:nth-child(9)'),
      await at('tbody tr:nth-child(5) th'),
    ]
    expect(Math.round(head.top - frame.top)).toBeLessThanOrEqual(2)
    expect(Math.round(key.left - frame.left)).toBeLessThanOrEqual(2)
  })

  test('change several records at once, which are named before', async () => {
    await open('/books/')
    await page.getByLabel('Select Book 1 (1)').check()
    await page.getByLabel('Select Book 2 (2)').check()
    await page.getByText('2 records selected').waitFor()
    const [selected, other] = await evaluate<readonly string[]>(
      '[1, 3].map((row) => getComputedStyle(document.querySelector(`tbody tr:nth-child(${row}) td:nth-child(4)`)).color)',
    )
    expect(selected).toBe(other)
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Edit…' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('heading').textContent()).toBe('Edit 2 records')
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual(['Book 1 (1)', 'Book 2 (2)'])
    expect(await findFaults(page)).toEqual([])
    for (const text of ['typed', '']) await dialog.getByLabel('Title').fill(text)
    for (const choice of ['draft', '']) await dialog.getByLabel('Status').selectOption(choice)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'Nothing was changed.' }).waitFor()
    await dialog.getByLabel('Status').selectOption('published')
    await dialog.getByLabel('Copies', { exact: true }).fill('many')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').filter({ hasText: '400' }).waitFor()
    expect((await dialog.getByRole('alert').innerText()).split('\n')).toEqual([
      '400 Validation failed',
      'Book 1 (1): Copies must be an integer',
      'Book 2 (2): Copies must be an integer',
    ])
    await dialog.getByLabel('Copies', { exact: true }).fill('9007199254740993')
    await dialog.getByLabel('Price is null').check()
    await dialog.getByText('curl').click()
    const sent = `-d '[{"id": 1, "status": "published", "price": null, "copies": 9007199254740993}, {"id": 2, `
    await dialog.locator('[data-curl]').filter({ hasText: sent }).waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').filter({ hasText: '2 records changed' }).waitFor()
    for (const id of [1, 2])
      expect(await (await api.fetch(`/books/${id}/`)).text()).toMatch(
        `"title":"Book ${id}","status":"published","price":null,"copies":9007199254740993`,
      )
  })

  test('delete several records at once, or say why not', async () => {
    await run('insert into reviews (book_id) values (3)')
    await open('/books/')
    for (const id of [3, 4]) await page.getByLabel(`Select Book ${id} (${id})`).check()
    await page.getByRole('button', { name: 'Delete…' }).click()
    const dialog = page.getByRole('dialog')
    expect(await evaluate('document.activeElement.textContent')).toBe('Cancel')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByRole('alert').innerText()).toBe(
      '409 Conflict\nBook 3 (3): A record of review still refers to it, by book',
    )
    expect(await findFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Select Book 3 (3)').uncheck()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('status').filter({ hasText: '1 record deleted' }).waitFor()
    expect((await api.fetch('/books/4/')).status).toBe(404)
    expect((await api.fetch('/books/3/')).status).toBe(200)
  })

  test('select no more records than one request may change', async () => {
    await open('/books/')
    await page.getByLabel('Select all records of this page').check()
    await page.getByText('at most 3 at once').waitFor()
    expect(await page.getByRole('button', { name: 'Delete…' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Clear selection' }).click()
    expect(await page.locator('[data-bulk]').isVisible()).toBe(false)
  })

  test('are downloaded whole', async () => {
    await open('/books/?price__gte=1500')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('books.csv')
    const text = await readFile(await download.path(), 'utf8')
    expect(text.split('\r\n')).toHaveLength(1 + 501 + 1)
  })

  test.each(['light', 'dark'] as const)('have no accessibility violations in %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme })
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 844 })
      for (const path of ['/books/?status=draft', '/books/?page=9999', '/wide/', '/reviews/']) {
        await open(path)
        expect(await findFaults(page)).toEqual([])
        const filter = page.getByText('+ Filter')
        if ((await filter.count()) === 0) continue
        await filter.click()
        expect(await findFaults(page)).toEqual([])
      }
    }
  })

  test('print every column, and no navigation (D15)', async () => {
    await page.setViewportSize({ width: 720, height: 1000 })
    await page.emulateMedia({ media: 'print' })
    await open('/wide/')
    for (const hidden of ['body > nav', '.request', '.tools'])
      expect(await page.locator(hidden).filter({ visible: true }).count()).toBe(0)
    const heads = page.locator('thead th')
    const box = await heads.last().boundingBox()
    expect(box && box.width > 0 && box.x + box.width).toBeLessThanOrEqual(720)
  })

  test('are filtered and paged without JavaScript', async () => {
    const browser = context.browser()
    if (!browser) return
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const bare = await plain.newPage()
    await bare.goto(`${api.url}/explore/books/?page_size=10`)
    await bare.getByText('+ Filter').click()
    await bare.getByLabel('price__gte').fill('1999')
    await bare.getByRole('button', { name: 'Apply' }).click()
    expect(await bare.getByText('2 records').count()).toBe(1)
    await plain.close()
  })
})
