/** Takes the pictures of docs/explore.md: serves a small library on an embedded database, and opens its pages in Debian's Chromium. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { create, HOME, withServedProject } from './served-project.mjs'

const CONFIGURATION = `version: 1
api: { prefix: /api, title: Library }
models:
  author:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 100 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 200 }
      author: { type: belongs_to, model: author }
      status: { type: choice, choices: [draft, published], default: draft }
      price: { type: decimal, precision: 10, scale: 2 }
      copies: { type: integer, default: 1 }
      published_on: { type: date }
    indexes: [[status, title, id], [title, id], [author, id], [published_on, id]]
  review:
    fields:
      id: { type: bigint, primary_key: true }
      book: { type: belongs_to, model: book }
      text: { type: text }
    indexes: [[book, id]]
resources:
  author: { model: author, path: /authors/, search: [name] }
  review: { model: review, path: /reviews/, filterable: { book: [exact] } }
  book:
    model: book
    path: /books/
    filterable: { status: [exact], author: [exact] }
    orderable: [title, published_on]
    export: true
    bulk: [partial_update, destroy]
    pagination: { style: page_number, page_size: 8 }
`
const AUTHORS = ['Ursula K. Le Guin', 'Italo Calvino', 'Octavia E. Butler', 'Stanisław Lem']
const BOOKS = [
  [1, 'The Dispossessed', '12.50', 31, '1974-05-01'],
  [2, 'Invisible Cities', '9.90', 12, '1972-11-01'],
  [3, 'Kindred', '14.00', 8, '1979-06-01'],
  [4, 'Solaris', '11.20', 19, '1961-06-01'],
  [1, 'The Left Hand of Darkness', '10.80', 22, '1969-03-01'],
  [3, 'Parable of the Sower', '15.00', 27, '1993-10-01'],
  [2, 'If on a winter’s night a traveler', '13.40', 9, '1979-06-01'],
  [4, 'The Cyberiad', '12.00', 6, '1965-01-01'],
  [1, 'The Lathe of Heaven', '9.10', 14, '1971-03-01'],
  [3, 'Dawn', '11.90', 11, '1987-05-01'],
]
/** The file, the page, and what to do there first. Of a page with an open dialog, the picture shows the dialog. */
const PICTURES = [
  ['explore.webp', '/explore/api/books/?status=published&ordering=title', async () => {}],
  ['explore-conflict.webp', '/explore/api/books/1/', meetConflict],
]
const VIEWPORT = { width: 1000, height: 640 }
/** WebP keeps the package small. */
const QUALITY = 0.5

const { DATABASE_URL: _, ...env } = process.env
await withServedProject(CONFIGURATION, env, async (url) => {
  await fill(url)
  await takeAll(url)
})

async function fill(url) {
  for (const name of AUTHORS) await create(`${url}/api/authors/`, { name })
  for (const [author, title, price, copies, published_on] of BOOKS)
    await create(`${url}/api/books/`, { author, title, price, copies, published_on, status: 'published' })
  for (const text of ['A classic', 'Read it twice', 'Slow, then not'])
    await create(`${url}/api/reviews/`, { book: 1, text })
}

async function takeAll(url) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  try {
    const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'light' })
    for (const [file, path, act] of PICTURES) {
      await page.goto(url + path)
      await act(page, url)
      const dialog = page.locator('dialog[open]')
      const picture = await ((await dialog.count()) > 0 ? dialog : page).screenshot()
      writeFileSync(join(HOME, 'docs', file), await toWebp(page, picture))
      console.log(`wrote docs/${file}`)
    }
  } finally {
    await browser.close()
  }
}

/** Somebody else changes the price while the copies are edited. */
async function meetConflict(page, url) {
  await page.setViewportSize({ width: 620, height: 500 })
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Copies').fill('30')
  const headers = { 'Content-Type': 'application/json' }
  await fetch(`${url}/api/books/1/`, { method: 'PATCH', headers, body: '{"price": "13.00"}' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Overwrite' }).waitFor()
  await page.evaluate('Promise.all(document.getAnimations().map((each) => each.finished))')
}

/** Playwright takes no pictures in this format, but Chromium can write it. */
async function toWebp(page, png) {
  const blank = await page.context().browser().newPage()
  const url = await blank.evaluate(
    async ([source, quality]) => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
      canvas.getContext('2d').drawImage(image, 0, 0)
      return canvas.toDataURL('image/webp', quality)
    },
    [`data:image/png;base64,${png.toString('base64')}`, QUALITY],
  )
  await blank.close()
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}
