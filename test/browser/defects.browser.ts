import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const COLUMNS = Array.from({ length: 26 }, (_, index) => `column_${index}`)
const YAML = `version: 1
api: { title: Library, prefix: "", explore: true }
models:
  part:
    table: parts
    fields: { id: { type: bigint, primary_key: true }, ${COLUMNS.map((name) => `${name}: { type: string, max: 20 }`).join(', ')} }
  page:
    table: pages
    fields: { id: { type: bigint, primary_key: true }, text: { type: text } }
resources:
  part: { model: part, path: /parts/, pagination: { count: exact } }
  page: { model: page, path: /pages/, pagination: { style: none } }
`

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}${path}`)

describeInChromium('in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    const names = COLUMNS.map(() => `'value'`).join(', ')
    for (const text of [
      `insert into parts (${COLUMNS.join(', ')}) select ${names} from generate_series(1, 40)`,
      `insert into pages (text) select repeat('long ', 200) from generate_series(1, 300)`,
    ])
      await api.database.query({ text, values: [] })
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

  test('a long list without pages is shown whole (D3)', async () => {
    await open('/explore/pages/')
    expect(await page.locator('tbody tr').count()).toBe(300)
    await page.getByRole('link', { name: '300', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'long long' }).waitFor()
  })

  test('the last of many columns can be scrolled to (D5)', async () => {
    await open('/explore/parts/')
    const last = page.getByRole('columnheader', { name: 'column_25' })
    await last.scrollIntoViewIfNeeded()
    const [box, table] = [await last.boundingBox(), await page.locator('.table').boundingBox()]
    expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual((table?.x ?? 0) + (table?.width ?? 0))
  })

  test('a page past the end leads to the first one (D9)', async () => {
    await open('/explore/parts/?page=9999')
    await page.getByText('This page is past the end: the list has 40 records.').waitFor()
    await page.getByRole('link', { name: 'First page' }).click()
    await page.getByText('1–10 of 40').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(10)
  })

  test('home says that the database is away (D10)', async () => {
    const other = await startApi(YAML, { checkResponses: false })
    await other.database.close()
    const { page: home, complaints: faults } = await openPage(context, other.url)
    expect((await home.goto(other.url))?.status()).toBe(503)
    await home.getByRole('heading', { name: 'The database does not respond' }).waitFor()
    expect(await findFaults(home)).toEqual([])
    await home.close()
    await other.close().catch(() => {})
    expect(faults).toEqual([])
  })
})
