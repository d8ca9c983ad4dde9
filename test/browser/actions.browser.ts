import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      lent: { type: boolean, default: false }
resources:
  book: { model: book, path: /books/ }
`

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.action<{ readonly days: number }>('book', 'extend', {
    summary: 'Extend a loan',
    method: 'PATCH',
    input: { days: { type: 'integer', minimum: 1, maximum: 28, default: 14 } },
    output: { days: { type: 'integer' } },
    handle: ({ input: { days } }) => ({ days }),
  })
  app.action('book', 'lend', {
    summary: 'Lend the book',
    output: 'record',
    handle: async ({ context, id }) => void (await context.store(books).update(id, { lent: true })),
  })
  app.action<{ readonly width: number | null }>('book', 'cover', {
    method: 'GET',
    summary: 'Draw a cover',
    input: { width: { type: 'integer', maximum: 9, nullable: true } },
    output: { width: { type: 'integer', nullable: true } },
    handle: ({ input: { width } }) => ({ width }),
  })
  app.action('book', 'clear', { on: 'collection', method: 'DELETE', summary: 'Clear', handle: () => undefined })
}

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })

describeInChromium('actions in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { plugin, checkResponses: false })
    await api.send('POST', '/books/', { title: 'Always' })
    context = await openChromium()
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

  test('ask for their input, and show their result', async () => {
    await open('/books/1/')
    await button('Extend a loan').click()
    await page.getByRole('heading', { name: 'Extend a loan' }).waitFor()
    await page.getByLabel('Days', { exact: true }).fill('29')
    await page.keyboard.press('Enter')
    await page.locator('#action-extend-days-error').filter({ hasText: '28' }).waitFor()
    expect(await findFaults(page)).toEqual([])
    await page.getByLabel('Days', { exact: true }).fill('')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: '{"days":14}' }).waitFor()
    expect(await findFaults(page)).toEqual([])
  })

  test('without a result show the record again', async () => {
    await open('/books/1/')
    await button('Lend the book').click()
    await button('Run').filter({ visible: true }).click()
    await page.getByRole('status').filter({ hasText: 'Lend the book: done' }).waitFor()
    expect(await page.locator('dl.record').innerText()).toMatch(/lent\s+true/)
  })

  test('that read have a page for each input', async () => {
    await open('/books/1/')
    await button('Draw a cover').click()
    await page.getByLabel('Width', { exact: true }).fill('7')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore/books/1/cover/?width=7')
    expect(await page.locator('dl.record').innerText()).toMatch(/width\s+7/)
  })

  test('of a list run with the keyboard alone', async () => {
    await open('/books/')
    await button('Clear').focus()
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Cancel')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'Clear: done' }).waitFor()
  })
})
