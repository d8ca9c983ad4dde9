import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, listenForComplaints, openChromium } from '../support/browser.js'
import { MOUNTED, stockBooks } from '../support/mounted-books.js'

const SHOTS = '.snippetctl/shots'
const STYLE = 'body{font:16px sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left}em{color:#b00020}'

describeInChromium('react-admin in Chromium', () => {
  let api: Api
  let browser: BrowserContext
  let page: Page
  let complaints: readonly string[]

  beforeAll(async () => {
    api = await startApi(MOUNTED)
    await stockBooks(api.database)
    const { outputFiles } = await build({
      entryPoints: ['test/clients/admin.jsx'],
      bundle: true,
      write: false,
      format: 'iife',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      logLevel: 'error',
    })
    browser = await openChromium({ width: 900, height: 700 })
    page = await browser.newPage()
    page.setDefaultTimeout(20_000)
    // One of the tests is rejected by intent.
    complaints = await listenForComplaints(page, api.url, (text) => text.includes('status of 400'))
    // The panel is of the same origin as the API, as behind one proxy.
    await page.route(`${api.url}/admin/**`, (route) =>
      route.request().url().endsWith('.js')
        ? route.fulfill({ contentType: 'text/javascript', body: outputFiles[0]?.text ?? '' })
        : route.fulfill({
            contentType: 'text/html',
            body: `<!doctype html><html lang=en><title>Admin</title><link rel=icon href="data:,"><style>${STYLE}</style><body><script src=/admin/panel.js></script>`,
          }),
    )
    await page.goto(`${api.url}/admin/#/books`)
  })

  afterAll(async () => {
    await browser.close()
    await api.close()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const rows = (first: string) => page.locator('tbody tr').filter({ hasText: first }).first().waitFor()
  const shoot = async (name: string) => {
    await mkdir(SHOTS, { recursive: true })
    await page.screenshot({ path: join(SHOTS, `${name}.png`) })
  }

  test('shows a list, paged, ordered and filtered (promise 16)', async () => {
    await page.getByText('page 1, 42 books').waitFor()
    await rows('Book 42')
    await shoot('react-admin-list')
    await button('Next')
    await rows('Book 32')
    await button('pages')
    await rows('Book 01')
    await button('Drafts')
    await page.getByText('page 1, 21 books').waitFor()
    await button('All')
    await page.getByText('page 1, 42 books').waitFor()
  })

  test('shows errors under their fields, and saves valid input', async () => {
    await page.getByRole('link', { name: '7', exact: true }).click()
    const title = page.getByLabel('title')
    await page.waitForFunction(`document.querySelector('input[name=title]')?.value === 'Book 07'`)
    await title.fill('x'.repeat(51))
    await button('Save')
    await page.getByRole('alert').filter({ hasText: 'Title must be between 1 and 50 characters' }).waitFor()
    await shoot('react-admin-form')
    await title.fill('Book 07, revised')
    await button('Save')
    await rows('Book 07, revised')
    expect(await (await api.fetch('/api/books/7')).json()).toMatchObject({ title: 'Book 07, revised', pages: 70 })
  })

  test('creates a record and deletes it', async () => {
    await page.getByRole('link', { name: 'Create' }).click()
    await page.getByLabel('title').fill('A new one')
    await page.getByLabel('pages').fill('1')
    await page.getByLabel('author').fill('2')
    await button('Save')
    await rows('A new one')
    await page.locator('tbody tr').filter({ hasText: 'A new one' }).getByRole('link').click()
    await button('Delete')
    await page.getByText('page 1, 42 books').waitFor()
  })

  test('logs nothing but the rejected request, and contacts no other host', () => {
    expect(complaints).toEqual([])
  })
})
