/** Takes the pictures of docs/explore.md: serves a small library on an embedded database, and opens its pages in Debian's Chromium. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const HOME = fileURLToPath(new URL('..', import.meta.url))
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
resources:
  author: { model: author, path: /authors/ }
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
const PICTURES = [['explore.png', '/explore/api/books/?status=published&ordering=title']]
const VIEWPORT = { width: 1000, height: 640 }

const folder = mkdtempSync(join(tmpdir(), 'snippetctl-pictures-'))
writeFileSync(join(folder, 'resources.yaml'), CONFIGURATION)
const snippetctl = (...words) =>
  spawn(process.execPath, [join(HOME, 'bin/snippetctl.js'), ...words], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })

const planned = snippetctl('migrate', 'plan', '--write', 'all')
planned.stdout.resume()
await once(planned, 'exit')
const server = snippetctl('serve', '--json', '--port', '0')
const exit = once(server, 'exit')
try {
  const url = await new Promise((resolve) => {
    createInterface(server.stdout).on('line', (line) => {
      const entry = JSON.parse(line)
      if (entry.event === 'listening') resolve(new URL(entry.url).origin)
    })
  })
  await fill(url)
  await takeAll(url)
} finally {
  server.kill()
  await exit
  rmSync(folder, { recursive: true })
}

async function fill(url) {
  for (const name of AUTHORS) await create(`${url}/api/authors/`, { name })
  for (const [author, title, price, copies, published_on] of BOOKS)
    await create(`${url}/api/books/`, { author, title, price, copies, published_on, status: 'published' })
}

async function create(url, body) {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
}

async function takeAll(url) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  try {
    const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'light' })
    for (const [file, path] of PICTURES) {
      await page.goto(url + path)
      await page.screenshot({ path: join(HOME, 'docs', file) })
      console.log(`wrote docs/${file}`)
    }
  } finally {
    await browser.close()
  }
}
