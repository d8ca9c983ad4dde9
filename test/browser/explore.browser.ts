import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { describeInChromium, listenForComplaints, openChromium } from '../support/browser.js'
import { startLibrary } from '../support/library.js'

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(api.url + path)

/** What axe-core finds that is serious. */
const findFaults = async (): Promise<readonly string[]> => {
  await page.evaluate(await readFile(resolve('node_modules/axe-core/axe.min.js'), 'utf8'))
  const found = await page.evaluate<{
    readonly violations: readonly {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }[]
  }>('axe.run()')
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
}

describeInChromium('Explore in Chromium', () => {
  beforeAll(async () => {
    api = await startLibrary()
    context = await openChromium()
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    page = await context.newPage()
    page.setDefaultTimeout(15_000)
    // The browser itself says of each rejected request that it was rejected.
    complaints = await listenForComplaints(
      page,
      api.url,
      (text, from) => text.startsWith('Failed to load resource') && from.includes('/api/'),
    )
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test('creates a record with the keyboard alone (promise 08)', async () => {
    await open('/explore/api/books/')
    const until = async (words: string) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab')
        const focused = await page.evaluate<string>(
          "document.activeElement.textContent.trim() || document.activeElement.name || ''",
        )
        if (focused === words) return
      }
      throw new Error(`Tab never came to ${words}`)
    }
    await until('New book')
    await page.keyboard.press('Enter')
    await page.keyboard.type('The Word for World Is Forest')
    await until('author')
    await page.keyboard.type('1')
    await until('price')
    await page.keyboard.type('7.20')
    await until('copies')
    await page.keyboard.type('9007199254740993')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore/api/books/10/')
    expect(await page.getByRole('status').textContent()).toBe('Created')
    const stored = await (await api.fetch('/api/books/10/')).text()
    expect(stored).toContain('"copies":9007199254740993,')
    await open('/explore/api/books/?page=2')
    expect(await page.getByRole('cell', { name: 'The Word for World Is Forest' }).count()).toBe(1)
  })

  test('shows each message under its field, and keeps the input (promise 08)', async () => {
    await open('/explore/api/books/')
    await page.getByRole('button', { name: 'New book' }).click()
    await page.getByLabel('Title').fill('x'.repeat(101))
    await page.getByLabel('Price').fill('free')
    await page.getByRole('button', { name: 'Create' }).click()
    const title = page.getByLabel('Title')
    await page.waitForSelector('[aria-invalid]')
    const described = async (field: string) =>
      page.evaluate<string>(`document.getElementById('create-${field}-error').textContent`)
    expect(await described('title')).toBe('Title must be between 1 and 100 characters')
    expect(await described('author')).toBe('Author is required')
    expect(await described('price')).toBe('Price must be a decimal string such as "12.50"')
    expect(await title.getAttribute('aria-describedby')).toContain('create-title-error')
    expect(await page.evaluate('document.activeElement.id')).toBe('create-title')
    expect(await title.inputValue()).toHaveLength(101)
    expect(await findFaults()).toEqual([])
  })

  test('sends only changed fields, and shows the request as curl', async () => {
    await open('/explore/api/books/1/')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Copies', { exact: true }).fill('18446744073709551615')
    await page.getByRole('dialog').getByText('curl').click()
    await page.locator('[data-curl]').filter({ hasText: `"copies": 18446744073709551615` }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.waitForSelector('[aria-invalid]')
    await page.getByLabel('Copies', { exact: true }).fill('9223372036854775807')
    await page.getByLabel('Extra', { exact: true }).fill('{"pages": 1.10}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor()
    const stored = await (await api.fetch('/api/books/1/')).text()
    expect(stored).toContain('"copies":9223372036854775807,')
    expect(stored).toMatch(/"extra":\{"pages": ?1\.10\}/)
    expect(stored).toContain('"price":"12.50"')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Copies is null').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('dt:text-is("copies") + dd').filter({ hasText: 'null' }).waitFor()
    expect(await (await api.fetch('/api/books/1/')).json()).toMatchObject({ copies: null })
  })

  test('deletes a record after confirmation, and explains why it cannot', async () => {
    await open('/explore/api/authors/1/')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    expect(await page.getByRole('alert').filter({ visible: true }).textContent()).toContain('409')
    await page.keyboard.press('Escape')
    await open('/explore/api/books/2/')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL('**/explore/api/books/')
    expect((await api.fetch('/api/books/2/')).status).toBe(404)
  })

  test('filters, orders and turns pages', async () => {
    await open('/explore/api/books/')
    await page.getByText('+ Filter').click()
    await page.getByLabel('status', { exact: true }).selectOption('published')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL('**/explore/api/books/?status=published')
    await page.getByRole('columnheader').getByRole('link', { name: 'title' }).click()
    await page.waitForURL('**/explore/api/books/?status=published&ordering=title')
    expect(await page.getByRole('columnheader', { name: 'title' }).getAttribute('aria-sort')).toBe('ascending')
    await open('/explore/api/books/')
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByRole('link', { name: 'Previous' }).waitFor()
    await page.getByRole('cell').getByRole('link').first().click()
    await page.waitForURL('**/explore/api/authors/*/')
    await page.getByRole('link', { name: 'book', exact: true }).last().click()
    await page.waitForURL('**/explore/api/books/?author=*')
  })

  test('suggests related records from the API', async () => {
    await open('/explore/api/books/')
    await page.getByRole('button', { name: 'New book' }).click()
    await page.getByRole('combobox', { name: 'Author' }).click()
    await page.keyboard.type('St')
    await page.locator('#create-author-list > :only-child').waitFor()
    expect(await page.locator('#create-author-list > [role=option]').textContent()).toBe('Stanisław Lem 4')
  })

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    test.each([
      '/',
      '/explore/api/books/',
      '/explore/api/books/?status=archived&author=2',
      '/explore/api/books/?pgae=2',
      '/explore/api/books/3/',
      '/explore/api/nowhere/',
    ])('has no accessibility violations at %s', async (path) => {
      await page.emulateMedia({ colorScheme })
      const answer = await open(path)
      // The browser says of a page that is an error that it is one.
      if ((answer?.status() ?? 0) >= 400) complaints = []
      expect(await findFaults()).toEqual([])
      for (const button of await page.locator('main [data-open]').all()) {
        await button.click()
        await page.waitForTimeout(0)
        await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished))')
        expect(await findFaults()).toEqual([])
        await page.keyboard.press('Escape')
      }
      const room = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect(room).toBeLessThanOrEqual(0)
    })
  })

  test('fits a small screen', async () => {
    await page.setViewportSize({ width: 360, height: 700 })
    for (const path of ['/', '/explore/api/books/', '/explore/api/books/3/']) {
      await open(path)
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    }
  })

  test('shows everything except forms without JavaScript', async () => {
    const still = await page.context().newCDPSession(page)
    await still.send('Emulation.setScriptExecutionDisabled', { value: true })
    await open('/explore/api/books/')
    expect(await page.getByRole('cell', { name: 'Kindred' }).count()).toBe(1)
    expect(await page.getByRole('button', { name: 'New book' }).count()).toBe(0)
    await page.getByText('+ Filter').click()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL('**/explore/api/books/?*')
    expect(await page.getByRole('cell', { name: 'Kindred' }).count()).toBe(1)
  })
})

describeInChromium('Explore of a plugin in Chromium', () => {
  test('sends a body to a route of a plugin', async () => {
    const snippets = await startApi(SNIPPETS_FILE)
    const browser = await openChromium()
    try {
      const page = await browser.newPage()
      await page.goto(`${snippets.url}/explore/api/snippets/`)
      await page.getByRole('button', { name: 'POST…' }).click()
      await page.getByLabel('Body').fill('{"title": "", "code": "1", "language": "js"}')
      await page.getByRole('button', { name: 'Send' }).click()
      const alert = page.getByRole('alert')
      await alert.filter({ hasText: 'Title must be between 1 and 100 characters' }).waitFor()
      await page.getByLabel('Body').fill('{"title": "One", "code": "1", "language": "js"}')
      await page.getByRole('button', { name: 'Send' }).click()
      await alert.filter({ hasText: 'Snippet created' }).waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('link', { name: '1', exact: true }).click()
      await page.waitForURL('**/explore/api/snippets/1/')
    } finally {
      await browser.close()
      await snippets.close()
    }
  })
})
