import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const YAML = `version: 1
api: { title: Library, prefix: "", explore: true, public_url: https://library.example/v1 }
models:
  author:
    table: authors
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 100 } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author }
      isbn: { type: string, min: 4, max: 4 }
      bought: { type: date, nullable: true }
      opens: { type: time, nullable: true }
      due: { type: timestamp, nullable: true }
      local: { type: local_timestamp, nullable: true }
      shelf: { type: belongs_to, model: shelf, nullable: true }
      place: { type: belongs_to, model: shelf, references: code, nullable: true }
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 100 }
      code: { type: string, max: 10, nullable: true, unique: true }
  card:
    table: cards
    fields:
      id: { type: bigint, primary_key: true }
      kind: { type: choice, choices: [paper, plastic], default: paper }
      place: { type: belongs_to, model: shelf, references: code, nullable: true }
      contact: { type: email, nullable: true }
      issued: { type: date, nullable: true }
      note: { type: string, max: 20, nullable: true }
resources:
  shelf: { model: shelf, path: /shelves/ }
  author: { model: author, path: /authors/, search: [name] }
  book: { model: book, path: /books/ }
  card: { model: card, path: /cards/ }
`

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const run = (text: string) => api.database.query({ text, values: [] })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const input = (name: string) => page.getByLabel(name, { exact: true })
const author = () => page.getByRole('combobox', { name: 'Author' })

describeInChromium('a form in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    await run(`insert into authors (name) select 'Author ' || n from generate_series(1, 10000) n`)
    await run(`insert into shelves (name, code) select 'Shelf ' || n, 'C-' || n from generate_series(1, 150) n`)
    context = await openChromium()
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    await run('truncate books restart identity')
    ;({ page, complaints } = await openPage(context, api.url))
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  test('finds one of 10,000 records with the keyboard, by one request', async () => {
    await open('/books/')
    await button('New book').click()
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes('/authors/')) requests += 1
    })
    await page.keyboard.type('9876')
    await page.getByRole('option', { name: 'Author 9876' }).waitFor()
    expect(requests).toBe(1)
    expect(await author().getAttribute('aria-expanded')).toBe('true')
    expect(await findFaults(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    const active = await author().getAttribute('aria-activedescendant')
    expect(await page.locator(`#${active}`).getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Enter')
    expect(await author().inputValue()).toBe('9876')
    expect(await page.locator('[data-picker]:has([name=author]) .picked').textContent()).toBe('Author 9876')
    await page.keyboard.press('Tab')
    await page.keyboard.type('1234')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore/books/1/')
    await page.locator('dl.record').getByText('Author 9876').waitFor()
  })

  test('closes the list of records by Escape, and stays open itself', async () => {
    await open('/books/')
    await button('New book').click()
    await author().click()
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('option').count()).toBe(0)
    expect(await page.locator('dialog[open]').count()).toBe(1)
    await page.keyboard.press('ArrowDown')
    await page.getByRole('option').first().click()
    expect(await author().inputValue()).toBe('1')
    await page.keyboard.type('nobody')
    await page.getByText('No record fits').waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await page.locator('[data-picker]:has([name=author]) .picked').textContent()).toBe('')
  })

  test('shows the name of the record whose key is typed, or that no record has it', async () => {
    const name = page.locator('[data-picker]:has([name=author]) .picked')
    await run(`update authors set name = 'Octavia E. Butler' where id = 4321`)
    await open('/books/')
    await button('New book').click()
    await page.keyboard.type('4321')
    await name.filter({ hasText: 'Octavia E. Butler' }).waitFor()
    await page.keyboard.type('9')
    await name.filter({ hasText: 'No record has this key' }).waitFor()
    expect(await findFaults(page)).toEqual([])
    await author().fill('')
    await page.keyboard.type('4321')
    await page.keyboard.press('Tab')
    await name.filter({ hasText: 'Octavia E. Butler' }).waitFor()
    await run(`update authors set name = 'Author 4321' where id = 4321`)
  })

  test('looks for words in the first records of a list that cannot be searched', async () => {
    await open('/books/')
    await button('New book').click()
    await page.getByRole('combobox', { name: 'Shelf' }).click()
    await page.keyboard.type('shelf 77')
    await page.getByRole('option', { name: 'Shelf 77' }).waitFor()
    await page.keyboard.type('7')
    await page.getByText('None of the first 100 records fits: type a key').waitFor()
    expect(await findFaults(page)).toEqual([])
  })

  test('shows the name of the record that a relation has', async () => {
    await run(`insert into books (author_id, isbn) values (77, '1234')`)
    await open('/books/1/')
    await button('Edit').click()
    expect(await page.locator('[data-picker]:has([name=author]) .picked').textContent()).toBe('Author 77')
  })

  test('shows and finds records by another field than their key, where a relation refers to it', async () => {
    await run(`insert into books (author_id, isbn, place_id) values (77, '1234', 'C-7')`)
    await open('/books/')
    await page.getByRole('link', { name: 'Shelf 7 C-7' }).waitFor()
    await open('/books/1/')
    await page.getByRole('link', { name: 'Shelf 7 C-7' }).waitFor()
    await button('Edit').click()
    const picked = page.locator('[data-picker]:has([name=place]) .picked')
    expect(await picked.textContent()).toBe('Shelf 7')
    await page.getByRole('combobox', { name: 'Place' }).fill('')
    await page.keyboard.type('shelf 88')
    await page.getByRole('option', { name: 'Shelf 88 C-88' }).waitFor()
    await page.keyboard.press('Enter')
    expect(await picked.textContent()).toBe('Shelf 88')
    await button('Save').click()
    await page.getByRole('link', { name: 'Shelf 88 C-88' }).click()
    await page.waitForURL('**/explore/shelves/88/')
  })

  test('has inputs of the browser for dates and times, which lose no digit', async () => {
    await run(
      `insert into books (author_id, isbn, opens, due) values (1, '1234', '10:00:00.000001', '2026-01-02T03:04:05Z')`,
    )
    await open('/books/1/')
    await button('Edit').click()
    expect(await input('Opens').getAttribute('type')).toBeNull()
    expect(await input('Due').inputValue()).toBe('2026-01-02T03:04:05')
    await input('Bought').fill('2026-11-21')
    await input('Due').fill('2026-11-21T10:30')
    await input('Local').fill('2026-11-21T10:30:15')
    await button('Save').click()
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor()
    expect(await (await api.fetch('/books/1/')).json()).toMatchObject({
      bought: '2026-11-21',
      opens: '10:00:00.000001',
      due: '2026-11-21T10:30:00.000000Z',
      local: '2026-11-21T10:30:15.000000',
    })
  })

  test('leaves out values that were given and removed again, except texts that can be empty', async () => {
    await open('/cards/')
    await button('New card').click()
    await input('Kind').selectOption('plastic')
    await input('Kind').selectOption('')
    for (const name of ['Place', 'Contact', 'Issued', 'Note']) {
      await input(name).fill(name === 'Issued' ? '2026-11-21' : 'x')
      await input(name).fill('')
    }
    await button('Create').click()
    await page.waitForURL('**/explore/cards/1/')
    const record = { id: 1, kind: 'paper', place: null, contact: null, issued: null, note: '' }
    expect(await (await api.fetch('/cards/1/')).json()).toEqual(record)
  })

  test('counts the errors, focuses the first, and says a length that has no room', async () => {
    await open('/books/')
    await button('New book').click()
    await input('Isbn').fill('12345')
    await button('Create').click()
    await page.getByText('2 fields to correct').waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('create-author')
    expect(await page.locator('#create-isbn-error').textContent()).toBe('Isbn must be exactly 4 characters')
  })

  test('shows the message of a wrong field at the lower edge', async () => {
    await open('/books/')
    await button('New book').click()
    await author().fill('1')
    await input('Isbn').fill('12345')
    await button('Create').click()
    const message = page.locator('#create-isbn-error')
    await message.filter({ hasText: 'exactly 4' }).waitFor()
    const fields = page.locator('dialog[open] .fields')
    await fields.evaluate((part) => {
      part.scrollTo(0, 0)
      const edge = part.querySelector('#create-isbn')?.getBoundingClientRect().bottom ?? 0
      ;(part as HTMLElement).style.maxHeight = `${edge - part.getBoundingClientRect().top + 4}px`
    })
    await page.keyboard.press('Enter')
    await message.filter({ hasText: 'exactly 4' }).waitFor()
    const [text, shown] = [await message.boundingBox(), await fields.boundingBox()]
    expect((text?.y ?? 0) + (text?.height ?? 0)).toBeLessThanOrEqual((shown?.y ?? 0) + (shown?.height ?? 0))
  })

  test('can be used at 400 % zoom', async () => {
    await page.setViewportSize({ width: 320, height: 256 })
    await open('/books/')
    await button('New book').click()
    for (const part of [author(), input('Local'), button('Create')]) {
      await part.scrollIntoViewIfNeeded()
      const box = await part.boundingBox()
      expect(box && box.y >= 0 && box.y + box.height <= 256 && box.x >= 0 && box.x + box.width <= 320).toBe(true)
    }
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })
})
