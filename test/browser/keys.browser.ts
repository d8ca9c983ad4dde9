import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const YAML = `version: 1
api: { title: Travel, prefix: "", explore: true }
models:
  city:
    table: cities
    primary_key: [country, code]
    fields:
      country: { type: string, max: 2 }
      code: { type: string, max: 10 }
      name: { type: string, max: 50 }
      note: { type: string, max: 50, nullable: true }
  tag:
    table: tags
    fields:
      slug: { type: string, max: 20, primary_key: true }
      name: { type: string, max: 50 }
      note: { type: string, max: 50, nullable: true }
      country: { type: belongs_to, model: country, nullable: true }
  country:
    table: countries
    fields: { code: { type: string, max: 5, primary_key: true }, name: { type: string, max: 50 } }
  visit:
    table: visits
    primary_key: [tag, number]
    fields: { tag: { type: belongs_to, model: tag }, number: { type: integer }, text: { type: string, max: 50 } }
resources:
  city: { model: city, path: /cities/, concurrency: optional, bulk: [partial_update, destroy] }
  tag: { model: tag, path: /tags/, concurrency: optional, bulk: [partial_update, destroy], search: [name] }
  country: { model: country, path: /countries/, default_order: [name], orderable: [name] }
  visit: { model: visit, path: /visits/ }
`

/** Two tables of records with a name and a note. */
const KEYS = [
  { key: 'of several fields', list: '/cities/', record: '/cities/it/a%2Fb%20%C3%BC/', table: 'cities' },
  { key: 'of text', list: '/tags/', record: '/tags/a%2Fb%20%C3%BC/', table: 'tags' },
]

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]

const open = (path: string) => page.goto(`${api.url}/explore${path}`)
const run = (text: string) => api.database.query({ text, values: [] })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const input = (name: string) => page.getByLabel(name, { exact: true })
const stored = async (table: string) => (await run(`select name, note from ${table} order by name`)).rows

describeInChromium('records with other keys in Chromium', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    context = await openChromium()
  })

  afterAll(async () => {
    await context.close()
    await api.close()
  })

  beforeEach(async () => {
    await run('truncate cities, tags, visits, countries')
    await run(`insert into cities values ('it', 'a/b ü', 'Ersilia'), ('it', 'b,c', 'Zora'), ('fr', 'c', 'Paris')`)
    await run(`insert into tags values ('a/b ü', 'Ersilia'), ('b,c', 'Zora'), ('c', 'Paris')`)
    ;({ page, complaints } = await openPage(context, api.url))
  })

  afterEach(async () => {
    await page.close()
    expect(complaints).toEqual([])
  })

  describe.each(KEYS)('a key $key', ({ list, record, table }) => {
    test('has a conflict field by field, which is overwritten or loaded again', async () => {
      await open(record)
      await button('Edit').click()
      await input('Name').fill('Mine')
      await run(`update ${table} set note = 'theirs', name = 'Theirs' where name = 'Ersilia'`)
      await button('Save').click()
      await page.getByText('Somebody else has changed this record.').waitFor()
      expect(await page.locator('.alert table').getByRole('row').allInnerTexts()).toEqual([
        'Field\tBefore\tNow\tWith your changes',
        'name\tErsilia\tTheirs\tMine',
        'note\tnull\ttheirs\ttheirs',
      ])
      expect(await findFaults(page)).toEqual([])
      await button('Overwrite').click()
      await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor()
      expect((await stored(table))[0]).toEqual(['Mine', 'theirs'])
      await button('Edit').click()
      await input('Name').fill('Mine again')
      await run(`update ${table} set name = 'Theirs again' where name = 'Mine'`)
      await button('Save').click()
      await button('Reload').click()
      await page.getByRole('heading', { level: 1, name: 'Theirs again' }).waitFor()
      expect(await page.locator('dialog[open]').count()).toBe(0)
    })

    test('is not deleted unseen after somebody else changed it', async () => {
      await open(record)
      await button('Delete').click()
      await run(`update ${table} set note = 'theirs' where name = 'Ersilia'`)
      await page.locator('#delete').getByRole('button', { name: 'Delete', exact: true }).click()
      await page.locator('#delete').getByText('theirs').waitFor()
      await page.locator('#delete').getByRole('button', { name: 'Delete anyway' }).click()
      await page.waitForURL(`**/explore${list}`)
      expect(await stored(table)).toHaveLength(2)
    })

    test('changes and deletes several records', async () => {
      await open(list)
      const pick = async (name: string) => page.getByRole('row', { name }).getByRole('checkbox').check()
      await pick('Ersilia')
      await pick('Zora')
      await button('Edit…').click()
      expect(await page.locator('dialog[open] [data-names] li').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringContaining('Ersilia'), expect.stringContaining('Zora')]),
      )
      await page.locator('dialog[open]').getByLabel('Note', { exact: true }).fill('seen')
      await page.locator('dialog[open] footer button').last().click()
      await page.getByRole('status').filter({ hasText: '2 records changed' }).waitFor()
      expect(await stored(table)).toEqual([
        ['Ersilia', 'seen'],
        ['Paris', null],
        ['Zora', 'seen'],
      ])
      await pick('Zora')
      await pick('Paris')
      await button('Delete…').click()
      await page.locator('dialog[open]').getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('status').filter({ hasText: '2 records deleted' }).waitFor()
      expect(await stored(table)).toEqual([['Ersilia', 'seen']])
    })
  })

  test('a relation to a text key prefers the record whose key was typed', async () => {
    await run(`insert into countries values ('it-x', 'fr'), ('fr', 'it')`)
    await open('/tags/')
    await button('New tag').click()
    const country = page.getByRole('combobox', { name: 'Country' })
    await country.fill('')
    await page.keyboard.type('fr')
    await page.getByRole('option').nth(1).waitFor()
    await page.keyboard.press('Enter')
    expect(await country.inputValue()).toBe('fr')
  })

  test('a relation to a text key is found by words, and by its key', async () => {
    await open('/visits/')
    await button('New visit').click()
    const tag = page.getByRole('combobox', { name: 'Tag' })
    await tag.fill('')
    await page.keyboard.type('ersi')
    await page.getByRole('option', { name: 'Ersilia a/b ü' }).waitFor()
    await page.keyboard.press('Enter')
    expect(await tag.inputValue()).toBe('a/b ü')
    expect(await page.locator('.picked').textContent()).toBe('Ersilia')
    await tag.fill('')
    await page.keyboard.type('b,c')
    await page.keyboard.press('Tab')
    await page.locator('.picked').filter({ hasText: 'Zora' }).waitFor()
    expect(await tag.inputValue()).toBe('b,c')
    await tag.fill('')
    await page.keyboard.type('nobody')
    await page.keyboard.press('Tab')
    await page.locator('.picked').filter({ hasText: 'No record has this key' }).waitFor()
    await tag.fill('b,c')
    await input('Number').fill('7')
    await input('Text').fill('first')
    await button('Create').click()
    await page.waitForURL('**/explore/visits/b%2Cc/7/')
    await page.locator('dl.record').getByRole('link', { name: 'Zora' }).waitFor()
  })
})
