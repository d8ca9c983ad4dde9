import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Api, startApi } from '../support/api.js'
import { describeInChromium, findFaults, openPage, openChromium } from '../support/browser.js'

const YAML = `version: 1
api: { title: Notes, explore: true }
auth:
  roles: { names: [member] }
  routes: { explore: signed_in }
  development: { ann: { roles: [member] }, bob: { roles: [member] }, eve: {} }
models:
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 50 }, owner: { type: string, max: 50 } }
resources:
  note:
    model: note
    path: /notes/
    export: true
    access: [{ to: member, may: all, rows: { owner: $sub }, set: { owner: $sub } }]
mounts:
  - { path: /v2, dialect: plain }
`

let api: Api
let context: BrowserContext
let page: Page
let complaints: readonly string[]
const button = (name: string) => page.getByRole('button', { name, exact: true })
const actAs = (name: string) => page.locator(`main [data-act-as=${name}]`).click()
const credential = () => page.evaluate(() => sessionStorage.getItem('explore-credential'))

describeInChromium('signing in to Explore', () => {
  beforeAll(async () => {
    api = await startApi(YAML, { checkResponses: false })
    context = await openChromium()
  })
  afterAll(async () => {
    await context.close()
    await api.close()
  })
  beforeEach(async () => {
    await api.database.query({ text: `truncate notes restart identity`, values: [] })
    await api.database.query({
      text: `insert into notes (text, owner) values ('of ann', 'ann'), ('of bob', 'bob')`,
      values: [],
    })
    ;({ page, complaints } = await openPage(context, api.url))
    await page.goto(`${api.url}/explore/api/notes/`)
  })
  afterEach(async () => {
    expect(complaints).toEqual([])
    await page.close()
  })

  test('shows the page of the caller, which stays signed in from page to page', async () => {
    expect(await findFaults(page)).toEqual([])
    await actAs('ann')
    await page.getByText('of ann').waitFor()
    expect(await page.getByText('of bob').count()).toBe(0)
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('link', { name: '1', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'of ann' }).waitFor()
    await page.locator('html[data-caller=ann]').waitFor()
    await page.reload()
    await page.locator('html[data-caller=ann]').waitFor()
    expect(await page.context().cookies()).toEqual([])
  })

  test('writes with the rights of the caller', async () => {
    await actAs('ann')
    await button('New note').click()
    await page.locator('dialog [name=text]').fill('another')
    await button('Create').click()
    await page.locator('dd').getByText('another').first().waitFor()
    const { rows } = await api.database.query({ text: `select owner from notes where text = 'another'`, values: [] })
    expect(rows).toEqual([['ann']])
  })

  test('changes to another caller, who sees nothing of the first', async () => {
    await actAs('ann')
    await page.getByText('of ann').waitFor()
    await button('Act as…').click()
    await page.getByRole('dialog', { name: 'Act as another caller' }).waitFor()
    await page.locator('dialog [data-act-as=bob]').click()
    await page.getByText('of bob').waitFor()
    expect(await page.getByText('of ann').count()).toBe(0)
  })

  test('acts as one caller, then as another, on a record at a mount', async () => {
    await page.goto(`${api.url}/explore/v2/notes/1/`)
    await actAs('ann')
    await page.getByRole('heading', { level: 1, name: 'of ann' }).waitFor()
    await button('Edit').click()
    await page.locator('dialog [name=text]').fill('of ann, at the mount')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: 'of ann, at the mount' }).waitFor()
    await button('Act as…').click()
    await page.locator('dialog [data-act-as=bob]').click()
    await page.getByText('404', { exact: false }).first().waitFor()
    expect(await page.getByText('of ann').count()).toBe(0)
    await page.getByRole('link', { name: 'v2:note' }).click()
    await page.getByText('of bob').waitFor()
    expect(await page.getByRole('link', { name: '2', exact: true }).getAttribute('href')).toBe('/explore/v2/notes/2/')
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  })

  test('signs out as soon as the button is shown, also when the other script of the page is late', async () => {
    await page.route('**/explore-list.js*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500))
      await route.continue()
    })
    await actAs('ann')
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    expect(await credential()).toBe(null)
  })

  test('tells the caller that a record was created, changed and deleted', async () => {
    const said = (words: string) => page.getByRole('status').filter({ hasText: words }).waitFor()
    await actAs('ann')
    await button('New note').click()
    await page.locator('dialog [name=text]').fill('another')
    await button('Create').click()
    await said('Created')
    await button('Edit').click()
    await page.locator('dialog [name=text]').fill('changed')
    await button('Save').click()
    await said('Saved')
    await button('Delete').click()
    await page.locator('#delete').getByRole('button', { name: 'Delete', exact: true }).click()
    await said('Deleted')
  })

  test('says which characters a credential has', async () => {
    await page.getByLabel('Token or API key').fill('tokeñ→')
    await button('Sign in').click()
    await page.getByText('A token or key has only printable ASCII characters.').waitFor()
    expect(await credential()).toBe(null)
  })

  test('says why a credential is rejected, and forgets it', async () => {
    await page.getByLabel('Token or API key').fill('wrong')
    await button('Sign in').click()
    await page.getByText('401 the credential is not valid here').waitFor()
    expect(await credential()).toBe(null)
  })

  test('says on public pages without a form, too, why a stored credential is rejected', async () => {
    // Swagger UI is found in the folders above the file.
    const folder = resolve('.snippetctl', 'signing-in')
    await mkdir(folder, { recursive: true })
    const file = join(folder, 'resources.yaml')
    await writeFile(file, YAML.replace('signed_in', 'anyone'))
    const open = await startApi(file, { checkResponses: false })
    try {
      const { page: docs } = await openPage(context, open.url)
      const said = docs.waitForEvent('dialog')
      await docs.addInitScript(() => sessionStorage.setItem('explore-credential', 'Bearer expired'))
      const visited = docs.goto(`${open.url}/docs`)
      const dialog = await said
      expect(dialog.message()).toBe('401 the credential is not valid here')
      await dialog.accept()
      await visited
      await docs.close()
    } finally {
      await open.close()
      await rm(folder, { recursive: true })
    }
  })

  test('says that a caller has no grant', async () => {
    await actAs('eve')
    await page.getByText('Nothing').or(page.getByText('403')).first().waitFor()
    expect(await page.getByText('of ann').count()).toBe(0)
  })

  test('downloads files with the credential', async () => {
    await actAs('ann')
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download CSV' }).click()
    const file = await (await download).createReadStream()
    let text = ''
    for await (const piece of file) text += piece
    expect(text).toContain('of ann')
    expect(text).not.toContain('of bob')
  })

  test('53: signing out leaves nothing, also not behind the back button', async () => {
    await actAs('ann')
    await page.getByText('of ann').waitFor()
    await page.getByRole('link', { name: '1', exact: true }).click()
    await page.locator('html[data-caller=ann]').waitFor()
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    expect(await credential()).toBe(null)
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    expect(await page.getByText('of ann').count()).toBe(0)
  })
})
