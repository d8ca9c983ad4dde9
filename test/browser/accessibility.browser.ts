import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openChromium, openPage } from '../support/browser.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
plugins: [./plugin.mjs]
auth:
  roles: { names: [member] }
  routes: { explore: anyone, openapi: anyone, stats: anyone }
  development: { ann: { roles: [member] } }
models:
  author:
    table: authors
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 100 } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 200 }
      author: { type: belongs_to, model: author }
      status: { type: choice, choices: [draft, published], default: draft }
      isbn: { type: string, max: 17, nullable: true, message: "ISBN must be an ISBN-13 with dashes such as 978-0-441-47812-5, which ends with a check digit" }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
      seen_at: { type: timestamp, nullable: true }
      extra: { type: json, nullable: true }
resources:
  author: { model: author, path: /authors/, search: [name], access: [{ may: all, to: anyone }] }
  book:
    model: book
    path: /books/
    export: true
    bulk: [partial_update, destroy]
    filterable: { status: [exact], author: [exact], price: [gte] }
    search: [title]
    orderable: [title]
    access: [{ may: all, to: anyone }]
`

const plugin: Plugin = (app) => {
  app.route('GET', '/stats/', 'stats', () => ({ status: 200, body: { books: 2 } }))
  app.action<{ readonly days: number }>('book', 'lend', {
    summary: 'Lend the book',
    input: { days: { type: 'integer', minimum: 1, default: 14 } },
    output: { days: { type: 'integer' } },
    handle: ({ input: { days } }) => ({ days }),
  })
}

const PATHS = [
  '/',
  '/docs',
  '/explore/~schema/book',
  '/explore/books/?status=draft&search=Kindred',
  '/explore/books/?price__gte=cheap',
  '/explore/books/1/',
  '/explore/stats/',
  '/explore/nowhere/',
]

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

/** How far the page is wider than its window. */
const overhang = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

describeInChromium('pages in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { plugin, checkResponses: false, env: { NODE_ENV: 'development' } })
    context = await openChromium()
    await api.send('POST', '/authors/', { name: 'Octavia E. Butler' })
    await api.send('POST', '/books/', { title: 'Kindred', author: 1, extra: { pages: 264 } })
  })
  afterAll(async () => {
    await context.close()
    await api.close()
  })
  beforeEach(async () => {
    ;({ page, complaints } = await openPage(context, api.url))
  })
  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  describe.each([
    [1440, 900],
    [768, 1024],
    [390, 844],
  ])('at %d pixels', (width, height) => {
    test.each(['light', 'dark'] as const)(
      'have no accessibility violations, nor have their dialogs, in %s',
      async (colorScheme) => {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme })
        for (const path of PATHS) {
          await page.goto(api.url + path)
          expect([path, await findFaults(page)]).toEqual([path, []])
          expect([path, await overhang()]).toEqual([path, 0])
          for (const opener of await page.locator('[data-open]:visible').all()) {
            await opener.click()
            await page.evaluate('Promise.all(document.getAnimations().map((each) => each.finished))')
            expect([path, await findFaults(page)]).toEqual([path, []])
            await page.keyboard.press('Escape')
          }
        }
      },
    )
  })

  test('at 390 pixels show each resource in one line, and the dialog to sign in with a margin', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${api.url}/explore/`)
    const sizes = await page.evaluate<readonly number[]>(
      "[...document.querySelectorAll('main tbody')[0].rows].map((row) => Math.round(row.offsetHeight / 20))",
    )
    expect(sizes).toEqual([2, 2])
    await page.getByRole('button', { name: 'Sign in' }).click()
    const margin = await page.evaluate<number>(
      "document.querySelector('#sign-in form').getBoundingClientRect().left - document.querySelector('#sign-in').getBoundingClientRect().left",
    )
    expect(margin).toBeGreaterThan(15)
  })

  test('at 390 pixels show every rule of a field, none of them cut', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${api.url}/explore/~schema/book`)
    const cut = await page.evaluate<number>(
      "[...document.querySelectorAll('.record dd')].filter((each) => each.scrollWidth > each.clientWidth).length",
    )
    expect(cut).toBe(0)
    expect(await page.getByText('which ends with a check digit').first().isVisible()).toBe(true)
  })
})
