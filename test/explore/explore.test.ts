import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const LIBRARY = `version: 1
api: { title: Library & "Sons" }
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, min: 1, max: 100 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author }
      title: { type: string, min: 1, max: 300 }
      pages: { type: bigint, nullable: true }
      price: { type: decimal, precision: 10, scale: 2, default: "1.00" }
      status: { type: choice, choices: [draft, "a<b"], default: draft }
      extra: { type: json, nullable: true }
      pin: { type: string, max: 4, write_only: true, nullable: true }
    indexes: [[author, id], [title, id]]
resources:
  author: { model: author, path: /authors/, filterable: { name: [exact] } }
  book:
    model: book
    path: /books/
    filterable: { author: [exact, in], title: [exact], status: [exact] }
    orderable: [title]
    pagination: { style: page_number, page_size: 2 }
  shelf: { model: book, path: /shelf/, read_only: true, pagination: { style: none } }
`

const HOSTILE = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `' onmouseover='alert(1)`,
  `</textarea></pre></dialog><svg onload=alert(1)>`,
  `&lt;b&gt; &amp;`,
  `javascript:alert(1)//{{7*7}}\${7*7}`,
  `\u202etxt.exe`,
  `line\r\nbreak`,
] as const

/** All that may stand between the characters < and > in a page: the elements that pages are made of. */
const ELEMENTS =
  /^(?:!doctype|\/?(?:html|head|meta|title|link|script|body|a|header|img|nav|h1|h2|ul|li|main|div|section|p|code|span|button|details|summary|pre|table|thead|tbody|tr|th|td|dl|dt|dd|form|label|input|select|option|textarea|datalist|dialog|footer|i|noscript))\b/

let api: Api
const page = async (path: string): Promise<string> => {
  const response = await api.fetch(path)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  return response.text()
}
/** What a browser would show of HTML, tags taken away. */
const words = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(lt|gt|quot|#39|#13|amp);/g, (_all, name) => ENTITIES[name] ?? '')
    .replaceAll(/ +/g, ' ')
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", '#13': '\r', amp: '&' }

beforeAll(async () => {
  api = await startApi(LIBRARY)
  await api.send('POST', '/api/authors/', { name: 'Ann' })
  for (const title of HOSTILE) await api.send('POST', '/api/books/', { title, author: 1, extra: { [title]: title } })
  await api.fetch('/api/books/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"Last","author":1,"pages":9007199254740993}',
  })
})
afterAll(() => api.close())

describe('Explore', () => {
  test.each(['/', '/explore/', '/explore'])('shows every resource at %s, with its total', async (path) => {
    const html = await page(path)
    expect(html).toContain('<title>Library &amp; &quot;Sons&quot;</title>')
    expect(html).toContain('<a href="/explore/api/books/">book</a>')
    expect(html).toMatch(/<td class="number">9<\/td><td><code>\/api\/books\/<\/code><\/td>/)
  })

  test('shows at /explore followed by a path what the API returns there', async () => {
    const html = await page('/explore/api/books/?author=1&ordering=-title&page=2')
    const answer = await api.fetch('/api/books/?author=1&ordering=-title&page=2')
    const books = (await answer.json()) as readonly { readonly id: number }[]
    for (const { id } of books) expect(html).toContain(`<a href="/explore/api/books/${id}/">${id}</a>`)
    expect(words(html)).toContain('200 OK')
    expect(html).toContain(`curl -s &#39;${api.url}/api/books/?author=1&amp;ordering=-title&amp;page=2&#39;`)
    expect(html).toContain('3–4 of 9')
    // Without `-g`, curl expands brackets.
    expect(await page('/explore/api/books/?title=[a]')).toContain(`curl -gs &#39;${api.url}/api/books/?title=[a]&#39;`)
    const [, next = ''] = /<([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '') ?? []
    expect(html).toContain(`rel="next" href="/explore${next.replaceAll('&', '&amp;')}"`)
  })

  test('links a record to related records in both directions', async () => {
    expect(await page('/explore/api/books/')).toContain(
      '<a href="/explore/api/authors/1/"><span class="name">Ann</span> <span class="dim">1</span></a>',
    )
    expect(await page('/explore/api/authors/1/')).toContain('<a href="/explore/api/books/?author=1">book</a>')
  })

  test("orders by a column's heading, from the first page", async () => {
    expect(await page('/explore/api/books/?author=1&page=2')).toContain(
      '<th scope="col"><a href="/explore/api/books/?author=1&amp;ordering=title">title</a></th>',
    )
    expect(await page('/explore/api/books/?ordering=title')).toContain(
      '<th scope="col" aria-sort="ascending"><a href="/explore/api/books/?ordering=-title">',
    )
  })

  test('removes empty parameters of the filter form', async () => {
    expect(await page('/explore/api/books/?author=&title=Last&status=&ordering=')).toContain(
      '<code class="url">/api/books/?title=Last</code>',
    )
  })

  test('keeps every digit', async () => {
    const html = await page('/explore/api/books/9/')
    expect(html).toContain('<span class="number">9007199254740993</span>')
    expect(html).toContain('data-json="9007199254740993" value="9007199254740993"')
    expect(html).toContain('data-json="&quot;1.00&quot;" value="1.00"')
  })

  test.each([
    ['/explore/api/books/?pgae=2', 400, 'this list has no parameter `pgae`'],
    ['/explore/api/books/99/', 404, 'Not found'],
    ['/explore/api/books/abc/', 404, 'Not found'],
    ['/explore/api/nowhere/', 404, 'The API has no route for'],
    ['/explore/%E0%A4%A/', 404, 'The API has no route for'],
  ])('shows at %s the error of the API, with status %i', async (path, status, text) => {
    const response = await api.fetch(path)
    expect(response.status).toBe(status)
    expect(words(await response.text())).toContain(text)
  })

  test.each(HOSTILE)('escapes %j', async (text) => {
    const id = HOSTILE.indexOf(text) + 1
    for (const path of [
      `/explore/api/books/${id}/`,
      '/explore/api/shelf/',
      `/explore/api/books/?title=${encodeURIComponent(text)}`,
    ]) {
      const html = await page(path)
      const tags = [...html.matchAll(/<([^\s>]*)/g)].map(([, name = '']) => name)
      expect(tags.filter((name) => !ELEMENTS.test(name))).toEqual([])
      expect(html.replaceAll(/="[^"]*"/g, '=""')).not.toMatch(/<[^>]*(?: on[a-z]+=|=[^"])/)
      expect(html).not.toMatch(/<script(?! src="\/explore\/)|<img(?! src="\/explore\/)|(?:href|action)="(?!\/|#)/)
      expect(words(html)).toContain(text.replaceAll(/ +/g, ' '))
    }
  })

  test('escapes the URL of a request', async () => {
    const html = await page(`/explore/api/books/?title=%3Cscript%3E&"><script>=1`)
    expect(html).not.toContain('<script>')
  })

  test('has forms with the writable fields, their rules and current values', async () => {
    const html = await page('/explore/api/books/1/')
    expect(html).toContain('<form data-method="PATCH" data-path="/api/books/1/"')
    expect(html).toMatch(/name="title" data-kind="text" aria-describedby="edit-title-hint edit-title-error"/)
    expect(html).toContain('<p class="hint" id="edit-title-hint">must be between 1 and 300 characters</p>')
    expect(html).toContain('<option value="draft" selected>draft</option><option value="a&lt;b">a&lt;b</option>')
    expect(html).toContain('<p class="hint" id="edit-author-hint">must be the id of an existing author</p>')
    expect(html).toContain('name="pin"')
    expect(html).not.toContain('name="id"')
  })

  test('offers no writes that the resource does not have', async () => {
    const html = await page('/explore/api/shelf/1/')
    expect(html).not.toContain('data-method')
    expect(html).not.toContain('data-open')
  })

  test('is read-only: it rejects other methods from anywhere', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await api.fetch('/explore/api/books/1/', {
        method,
        headers: { origin: 'http://elsewhere.example' },
      })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    }
    expect((await api.fetch('/api/books/1/')).status).toBe(200)
  })

  test('allows pages to load from and send to only their own server, and forbids frames', async () => {
    const { headers } = await api.fetch('/explore/api/books/')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    const html = await page('/explore/api/books/1/')
    expect(html).not.toMatch(/ style=|<style|https?:\/\/(?!127\.0\.0\.1)/)
  })

  test('has files of at most 30 kB, named after their contents', async () => {
    for (const [path, count] of [
      ['/', 3],
      ['/explore/api/books/', 4],
      ['/explore/api/books/1/', 4],
    ] as const) {
      const html = await page(path)
      const urls = new Set(
        [...html.matchAll(/(?:src|href)="(\/explore\/explore[-a-z]*\.[a-z]+\?v=[^"]+)"/g)].map(([, url = '']) => url),
      )
      expect(urls.size).toBe(count)
      let bytes = 0
      for (const url of urls) {
        const response = await api.fetch(url)
        bytes += (await response.arrayBuffer()).byteLength
        expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        const headers = { 'if-none-match': response.headers.get('etag') ?? '' }
        expect((await api.fetch(url, { headers })).status).toBe(304)
        expect((await api.fetch(url.replace(/v=.*/, 'v=old'))).headers.get('cache-control')).toBe('no-cache')
      }
      expect(bytes).toBeLessThanOrEqual(30 * 1024)
    }
  })

  test("does not affect the API's paths, whatever `Accept` says", async () => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const response = await api.fetch('/api/books/', { headers: { accept: browser } })
    expect(response.headers.get('content-type')).toBe('application/json')
    const nowhere = await api.fetch('/nowhere', { headers: { accept: 'text/html' } })
    expect([nowhere.status, nowhere.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  })
})

describe('the presence of Explore', () => {
  const yaml = (api: string) => `version: 1\napi: { ${api} }\n`

  test.each([
    ['no setting', '', undefined, 200],
    ['no setting, in production', '', 'production', 404],
    ['`explore: true`, in production', 'explore: true', 'production', 200],
    ['`explore: false`', 'explore: false', undefined, 404],
    ['`explore: development`, in production', 'explore: development', 'production', 404],
  ])('with %s', async (_where, said, NODE_ENV, status) => {
    const server = await startApi(yaml(said), { database: api.database, env: NODE_ENV ? { NODE_ENV } : {} })
    try {
      for (const path of ['/', '/explore/', '/explore/explore.css'])
        expect((await server.fetch(path)).status).toBe(status)
    } finally {
      await server.close()
    }
  })
})

describe('Explore for routes of a plugin', () => {
  let snippets: Api
  beforeAll(async () => {
    snippets = await startApi(SNIPPETS_FILE)
    await snippets.send('POST', '/api/snippets/', { title: 'One', code: '<b>1</b>', language: 'html' })
  })
  afterAll(() => snippets.close())
  const text = async (path: string) => (await snippets.fetch(path)).text()

  test('lists them, with their methods', async () => {
    const html = await text('/')
    expect(html).toContain('<a href="/explore/api/snippets/"><code>/api/snippets/</code></a>')
    expect(html).toContain('<code>/api/snippets/{id}/</code>')
  })

  test('shows a list as a table with links to its records, and a likely body', async () => {
    const html = await text('/explore/api/snippets/')
    expect(html).toContain('<a href="/explore/api/snippets/1/">1</a>')
    expect(html).toContain('&lt;b&gt;1&lt;/b&gt;')
    expect(html).toContain('<form data-method="POST" data-path="/api/snippets/"')
    expect(words(html)).toContain('"title": "One"')
  })

  test('shows a record, and how to change and delete it', async () => {
    const html = await text('/explore/api/snippets/1/')
    expect(html).toContain('<dt>highlighted</dt>')
    expect(html).toContain('<summary>Response</summary>')
    expect(html).toContain('<form data-method="PUT" data-path="/api/snippets/1/"')
    expect(html).toContain('<form data-method="DELETE" data-path="/api/snippets/1/" data-next="/explore/api/snippets/"')
  })

  test('shows their error responses', async () => {
    const response = await snippets.fetch('/explore/api/snippets/7/')
    expect(response.status).toBe(404)
    const html = await response.text()
    expect(html).toContain('<section class="rejection" aria-label="Response"><h2>404 Not Found</h2>')
    expect(html).toContain('{\n  &quot;error&quot;: &quot;Snippet not found&quot;\n}')
    expect(html).toContain('<p>Snippet not found</p>')
  })
})
