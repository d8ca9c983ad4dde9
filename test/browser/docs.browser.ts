import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { describeInChromium, findFaults, listenForComplaints, openChromium } from '../support/browser.js'

let api: Api
let browser: BrowserContext
let page: Page
let complaints: readonly string[]

/** How far the page is wider than its window. */
const overhang = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

describeInChromium('Swagger UI in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(SNIPPETS_FILE)
    browser = await openChromium()
  })

  afterAll(async () => {
    await browser.close()
    await api.close()
  })

  beforeEach(async () => {
    page = await browser.newPage()
    page.setDefaultTimeout(15_000)
    complaints = await listenForComplaints(page, api.url)
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test('shows every route and tries one out, using no other server', async () => {
    await page.goto(`${api.url}/docs`)
    await page.locator('#operations-snippet-createSnippet .opblock-summary-control').click()
    await page.locator('#operations-snippet-createSnippet .try-out__btn').click()
    await page
      .locator('#operations-snippet-createSnippet textarea')
      .first()
      .fill('{"title":"One","code":"<b>1</b>","language":"html"}')
    await page.locator('#operations-snippet-createSnippet .execute').click()
    const answer = page.locator('#operations-snippet-createSnippet .live-responses-table')
    await answer.getByText('"title"').waitFor()
    expect(await answer.innerText()).toContain('201')
    const paths = await page.locator('.opblock-summary-path').count()
    const { paths: described } = (await (await api.fetch('/openapi.json')).json()) as {
      paths: Readonly<Record<string, object>>
    }
    expect(paths).toBe(Object.values(described).flatMap((methods) => Object.keys(methods)).length)
  })

  test.each(['light', 'dark'] as const)('follows the colour scheme: %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme })
    await page.goto(`${api.url}/docs`)
    await page.locator('.opblock').first().waitFor()
    const isDark = await page.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(28, 32, 34)'")
    expect(isDark).toBe(colorScheme === 'dark')
  })

  test.each([
    [1440, 'light'],
    [1440, 'dark'],
    [768, 'light'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)(
    'has no accessibility violations at %d pixels in %s, nor has an open operation',
    async (width, colorScheme) => {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.goto(`${api.url}/docs`)
      await page.locator('#servers[aria-label]').waitFor()
      expect(await findFaults(page)).toEqual([])
      expect(await overhang()).toBe(0)
      await page.locator('#operations-snippet-listSnippet .opblock-summary-control').click()
      await page.getByRole('heading', { name: 'Responses' }).waitFor()
      expect(await findFaults(page)).toEqual([])
      expect(await overhang()).toBe(0)
    },
  )

  test('links back to Explore, and to no page about a licence that is not stated', async () => {
    await page.goto(`${api.url}/docs`)
    await page.locator('.opblock').first().waitFor()
    expect(await page.locator('a[href*="spdx"]').filter({ visible: true }).count()).toBe(0)
    await page.getByRole('link', { name: '← Explore' }).click()
    await page.waitForURL('**/explore/')
  })

  test('loads no other document named in the URL', async () => {
    await page.goto(`${api.url}/docs?url=${encodeURIComponent('http://elsewhere.example/openapi.json')}`)
    await page.locator('.opblock').first().waitFor()
    expect(await page.locator('.info .title').innerText()).toContain('Snippet service')
  })
})
