import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** A file in another folder, without installed packages. */
const ELSEWHERE = 'version: 1\napi: { title: Library & "Sons" }\n'

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
})
afterAll(() => api.close())

/** The addresses of the files that the page needs. */
const filesOf = (html: string): readonly string[] =>
  [...html.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, url = '']) => url)

describe('Swagger UI at /docs', () => {
  test.each(['/docs', '/docs/'])('is served at %s', async (path) => {
    const response = await api.fetch(path, { redirect: 'manual' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toContain('<title>Documentation · Snippet service</title>')
  })

  test('loads only from its own server, without inline scripts and styles', async () => {
    const response = await api.fetch('/docs')
    expect(response.headers.get('content-security-policy')).toBe(POLICY)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const html = await response.text()
    expect(html).not.toMatch(/https?:|<style| style=| on[a-z]+=|<script(?! src="\/docs\/)/)
    const start = await (await api.fetch('/docs/docs.js')).text()
    expect(start).toContain("url: '/openapi.json'")
    expect(start).toContain('validatorUrl: null')
    expect(start).not.toMatch(/https?:/)
  })

  test('serves the files of the package unchanged, with their types', async () => {
    const types = new Map<string, string | null>()
    for (const url of filesOf(await (await api.fetch('/docs')).text())) {
      const response = await api.fetch(url)
      const name = url.replace(/^\/docs\/|\?.*$/g, '')
      types.set(name, response.headers.get('content-type'))
      const bytes = Buffer.from(await response.arrayBuffer())
      if (name.startsWith('docs.')) continue
      expect(bytes.equals(await readFile(`node_modules/swagger-ui-dist/${name}`))).toBe(true)
    }
    expect(Object.fromEntries(types)).toEqual({
      'docs.css': 'text/css; charset=utf-8',
      'docs.js': 'text/javascript; charset=utf-8',
      'favicon-32x32.png': 'image/png',
      'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
      'swagger-ui.css': 'text/css; charset=utf-8',
    })
  })

  test('serves its files under URLs with their version, and revalidates others', async () => {
    for (const url of filesOf(await (await api.fetch('/docs')).text())) {
      const response = await api.fetch(url, { method: 'HEAD' })
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      const headers = { 'if-none-match': response.headers.get('etag') ?? '' }
      expect((await api.fetch(url, { headers })).status).toBe(304)
      const other = await api.fetch(url.replace(/v=.*/, 'v=old'), { method: 'HEAD' })
      expect(other.headers.get('cache-control')).toBe('no-cache')
    }
  })

  test.each([
    'package.json',
    'swagger-ui-bundle.js.map',
    'index.html',
    '..%2fpackage.json',
    '%2e%2e/package.json',
    'swagger-ui.css/',
    'swagger-ui.css%00.png',
    '/swagger-ui.css',
  ])('has no file at /docs/%s', async (name) => {
    const response = await api.fetch(`/docs/${name}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('rejects %s', async (method) => {
    const response = await api.fetch('/docs', { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('is linked from Explore', async () => {
    expect(await (await api.fetch('/')).text()).toContain('<a href="/docs/">Swagger UI</a>')
  })
})

describe('without Swagger UI', () => {
  let bare: Api
  beforeAll(async () => {
    bare = await startApi(ELSEWHERE, { database: api.database })
  })
  afterAll(() => bare.close())

  test('/docs shows the command that installs it', async () => {
    const response = await bare.fetch('/docs')
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const html = await response.text()
    expect(html).toContain('<pre tabindex="0">npm install --ignore-scripts swagger-ui-dist</pre>')
    expect(html).toContain('Library &amp; &quot;Sons&quot;')
  })

  test('its files name that command, too', async () => {
    const response = await bare.fetch('/docs/swagger-ui.css')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      detail: 'swagger-ui-dist is not installed: npm install --ignore-scripts swagger-ui-dist',
    })
  })
})

describe('the presence of /docs', () => {
  test.each([
    ['no setting', '', undefined, true],
    ['no setting, in production', '', 'production', false],
    ['`explore: true`, in production', 'explore: true', 'production', true],
    ['`explore: false`', 'explore: false', undefined, false],
  ])('with %s', async (_where, said, NODE_ENV, there) => {
    const yaml = `version: 1\napi: { ${said} }\n`
    const server = await startApi(yaml, { database: api.database, env: NODE_ENV ? { NODE_ENV } : {} })
    try {
      const response = await server.fetch('/docs')
      expect(response.headers.get('content-type')).toBe(there ? 'text/html; charset=utf-8' : 'application/problem+json')
    } finally {
      await server.close()
    }
  })
})
