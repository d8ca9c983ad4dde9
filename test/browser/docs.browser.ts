import { existsSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const CHROMIUM = '/usr/bin/chromium'
const suite = existsSync(CHROMIUM) ? describe : describe.skip

let api: Api
let browser: Browser
let page: Page
let complaints: string[]

suite('Swagger UI in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(SNIPPETS_FILE)
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  })

  afterAll(async () => {
    await browser.close()
    await api.close()
  })

  beforeEach(async () => {
    complaints = []
    page = await browser.newPage()
    page.setDefaultTimeout(15_000)
    await page.route('**', (route) => {
      if (route.request().url().startsWith(api.url)) return route.continue()
      complaints.push(`asked for ${route.request().url()}`)
      return route.abort()
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test('shows every route and tries one out, asking nobody but this server', async () => {
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

  test('takes no other document from the address', async () => {
    await page.goto(`${api.url}/docs?url=${encodeURIComponent('http://elsewhere.example/openapi.json')}`)
    await page.locator('.opblock').first().waitFor()
    expect(await page.locator('.info .title').innerText()).toContain('Snippet service')
  })
})
