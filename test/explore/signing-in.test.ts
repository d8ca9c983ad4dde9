import { once } from 'node:events'
import { get } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { title: Notes, explore: true }
auth:
  roles: { names: [member, reader] }
  routes: { explore: signed_in, ping: [member] }
  development: { ann: { roles: [member] }, bob: {}, cleo: { roles: [reader] } }
plugins: [./plugin.mjs]
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 50 } } }
  secret: { table: secrets, fields: { id: { type: bigint, primary_key: true } } }
  report: { table: reports, fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 50 }, rank: { type: integer, nullable: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: read }, { to: member, may: create }] }
  secret: { model: secret, path: /secrets/, orderable: [id], access: [{ to: member, may: read }] }
  report: { model: report, path: /reports/, orderable: [rank], filterable: { rank: [exact] }, access: [{ to: member, may: all }, { to: reader, may: retrieve, fields: [id, text] }, { to: signed_in, may: create, fields: [text] }] }
`

const open: Api[] = []
const start = async (yaml: string, env = {}): Promise<Api> => {
  const api = await startApi(yaml, {
    env,
    checkResponses: false,
    plugin: (app) => {
      app.route('GET', '/ping/', 'ping', () => ({ status: 200, body: 'pong' }))
      if (yaml.includes('auth:'))
        app.authenticate('session', ({ headers }) =>
          headers.authorization === 'Session s3cret' ? { subject: 'eve' } : undefined,
        )
    },
  })
  open.push(api)
  return api
}
afterAll(async () => {
  for (const api of open) await api.close()
})

let api: Api
beforeAll(async () => {
  api = await start(YAML)
})
const unescape = (html: string) => html.replaceAll('&#39;', "'").replaceAll('&quot;', '"')
const page = (path: string, authorization?: string) =>
  api.fetch(path, { headers: { accept: 'text/html', ...(authorization && { authorization }) } })

describe('a page that needs a caller', () => {
  test.each(['/', '/explore/', '/explore/api/notes/', '/explore/nowhere/', '/docs'])(
    '%s asks an unknown one to sign in, with 401 and no more than anybody may see',
    async (path) => {
      const response = await page(path)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Notes"')
      expect(response.headers.get('cache-control')).toBe('no-store')
      const text = await response.text()
      expect(text).toContain('<h1>Sign in</h1>')
      expect(text).toContain('data-act-as="ann"')
      expect(text).not.toMatch(/secrets|notes|ping|data-caller/)
    },
  )

  test('has the name of the caller, and links to what it may use', async () => {
    const seen = async (name: string) => (await page('/explore/', `Dev ${name}`)).text()
    const [ann, bob] = [await seen('ann'), await seen('bob')]
    expect(ann).toContain('<html lang="en" data-caller="ann" ')
    for (const path of ['notes', 'secrets', 'ping']) expect(ann).toContain(`href="/explore/api/${path}/"`)
    expect(ann).toContain('list, create, retrieve')
    expect(bob).toContain('href="/explore/api/notes/"')
    expect(bob).toContain('list, retrieve')
    expect(bob).not.toMatch(/secret|ping/)
  })

  test('shows neither the orders of a list that the caller may not use, nor its schema', async () => {
    const seen = async (name: string) => {
      const response = await page('/explore/api/secrets/', `Dev ${name}`)
      const text = await response.text()
      return [response.status, text.includes('filter-ordering'), text.includes('/~schema/secret')]
    }
    expect(await seen('ann')).toEqual([200, true, true])
    expect(await seen('bob')).toEqual([403, false, false])
  })

  test('about a resource leaves out its lists for a caller who may not list, and is 404 for a caller who sees no record', async () => {
    const seen = async (name: string) => {
      const response = await page('/explore/~schema/report', `Dev ${name}`)
      const text = await response.text()
      const link = (await (await page('/explore/api/reports/', `Dev ${name}`)).text()).includes('/~schema/report')
      return [
        response.status,
        link,
        ['Lists', 'Filters', 'Default order', 'Orders'].filter((part) => text.includes(part)),
      ]
    }
    expect(await seen('ann')).toEqual([200, true, ['Lists', 'Filters', 'Default order', 'Orders']])
    expect(await seen('cleo')).toEqual([200, true, []])
    expect(await seen('bob')).toEqual([404, false, []])
  })

  test('has curl with the name of a caller in development, but never with a secret', async () => {
    const curl = async (authorization: string) => {
      const text = await (await page('/explore/api/notes/', authorization)).text()
      expect(text).not.toContain('s3cret')
      return unescape(/data-copy="([^"]*)"/.exec(text)?.[1] ?? '')
    }
    expect(await curl('Dev ann')).toBe(`curl -s '${api.url}/api/notes/' -H 'Authorization: Dev ann'`)
    expect(await curl('Session s3cret')).toBe(`curl -s '${api.url}/api/notes/' -H "Authorization: Session $TOKEN"`)
    expect(await (await page('/', 'Dev ann')).text()).toContain(`data-credential="-H &#39;Authorization: Dev ann&#39;"`)
  })

  test('has curl with the public URL, if it is requested there', async () => {
    const named = await start(YAML.replace('explore: true', 'explore: true, public_url: https://api.example'))
    const curlAt = async (host: string) => {
      const { port } = new URL(named.url)
      const headers = { host, authorization: 'Dev ann' }
      const [response] = (await once(get({ port, path: '/explore/api/notes/', headers }), 'response')) as [Readable]
      return /data-copy="curl -s &#39;([^&]*)/.exec(await text(response))?.[1]
    }
    expect(await curlAt('api.example')).toBe('https://api.example/api/notes/')
    expect(await curlAt('localhost:8000')).toBe('http://localhost:8000/api/notes/')
  })

  test('52: about a resource lists the routes that the caller may use', async () => {
    const methods = async (name: string) => {
      const text = await (await page('/explore/~schema/note', `Dev ${name}`)).text()
      return [...text.matchAll(/<th scope="row">([\w-]+)<\/th><td><span[^>]*>(\w+)/g)].map(
        ([, route, method]) => `${route} ${method}`,
      )
    }
    expect(await methods('bob')).toEqual(['note-list GET', 'note-detail GET'])
    expect(await methods('ann')).toEqual(['note-list GET', 'note-list POST', 'note-detail GET'])
  })

  test('53: is stored nowhere', async () => {
    for (const path of ['/explore/', '/explore/api/notes/'])
      expect((await page(path, 'Dev ann')).headers.get('cache-control')).toBe('no-store')
  })

  test('rejects a wrong credential as the API does', async () => {
    const response = await page('/explore/', 'Bearer wrong')
    expect([response.status, (await response.json()).type]).toEqual([401, '/problems/unauthorized'])
  })

  test('offers no names in production', async () => {
    const live = await start(YAML, { NODE_ENV: 'production' })
    const text = await (await live.fetch('/explore/')).text()
    expect(text).toContain('data-sign-in')
    expect(text).not.toContain('data-act-as')
  })
})

test('without `auth`, pages know nothing of signing in', async () => {
  const bare = YAML.replace(/auth:[^]*?plugins/, 'plugins').replaceAll(/, access: .*/g, ' }')
  const text = await (await (await start(bare)).fetch('/explore/')).text()
  expect(text).toContain('/explore/api/notes/')
  expect(text).not.toContain('sign-in')
})

test('with signing in, a page has at most 30 kB of files', async () => {
  const urls = async (path: string) => {
    const html = await (await page(path, 'Dev ann')).text()
    return [...new Set([...html.matchAll(/(?:src|href)="(\/explore\/explore[^"]+)"/g)].map(([, url = '']) => url))]
  }
  await api.send('POST', '/api/notes/', { text: 'one' }, { authorization: 'Dev ann' })
  for (const path of ['/', '/explore/api/notes/', '/explore/api/notes/1/', '/explore/~schema/note']) {
    const files = await urls(path)
    expect(files.join()).toContain('explore-sign-in.js')
    const sizes = await Promise.all(files.map(async (url) => (await (await api.fetch(url)).arrayBuffer()).byteLength))
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(30 * 1024)
  }
})
