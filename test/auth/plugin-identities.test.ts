import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Plugin, Problem } from '../../src/index.js'
import { loadApplication } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'
import { makeProject } from '../support/cli.js'

const YAML = `version: 1
auth:
  keys: true
  roles: { names: [member] }
  claims: { tenant: { type: integer } }
  development: { ann: { roles: [member] } }
plugins: [./plugin.mjs]
models:
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, tenant: { type: integer } }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: anyone, may: retrieve }
      - { to: member, may: [list, create], rows: { tenant: $tenant } }
`
const asked: string[] = []
const methods: (string | undefined)[] = []
const plugin: Plugin = (app) => {
  app.authenticate('session', ({ method, url, headers }) => {
    asked.push(`${method} ${url}`)
    const [scheme, name] = headers.authorization?.split(' ') ?? []
    if (headers['x-session'] === 'good') return { subject: 'eve', roles: ['member', 'other'], claims: { tenant: 7 } }
    if (headers['x-session'] === 'stale') throw new Problem('unauthorized', 'the session is over')
    if (headers['x-session'] === 'odd') return { subject: '' }
    if (headers['x-session'] === 'null') return null as never
    if (headers['x-session'] === 'name') return 'eve' as never
    if (headers['x-session'] === 'claims') return { subject: 'eve', claims: null as never }
    // Without a compiler, a plugin may return a text.
    if (headers['x-session'] === 'text') return { subject: 'eve', roles: 'nonmembers' as never }
    return scheme === 'Bearer' && name ? { subject: name } : undefined
  })
  app.authenticate('second', async ({ headers }) =>
    headers['x-second'] === undefined ? undefined : { subject: 'sam', roles: ['member'], claims: { tenant: 'seven' } },
  )
  app.use((context, next) => {
    methods.push(context.identity?.method)
    return next()
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, checkResponses: false })
})
afterAll(() => api.close())
const statusOf = async (headers: Readonly<Record<string, string>>, path = '/api/notes/') =>
  (await api.fetch(path, { headers })).status

describe('`app.authenticate`', () => {
  test('gives the subject, the declared roles and the claims of their types, under its name', async () => {
    const good = { 'x-session': 'good' }
    expect((await api.send('POST', '/api/notes/', { tenant: 7 }, good)).status).toBe(201)
    expect((await api.send('POST', '/api/notes/', { tenant: 8 }, good)).status).toBe(403)
    expect(methods.at(-1)).toBe('session')
    const second = await api.fetch('/api/notes/', { headers: { 'x-second': '1' } })
    expect(await second.json()).toEqual([])
    expect(methods.at(-1)).toBe('second')
  })

  test('is asked about tokens of another form, and is not asked where the configuration knows the caller', async () => {
    expect(await statusOf({ authorization: 'Bearer opaque' })).toBe(403)
    const before = asked.length
    expect(await statusOf({ authorization: 'Dev ann' })).toBe(200)
    expect(await statusOf({ authorization: 'Bearer snk_0' })).toBe(401)
    expect(asked.length).toBe(before)
  })

  test('leaves who has no credential unknown, and rejects one that nobody knows', async () => {
    expect(await statusOf({}, '/api/notes/1/')).toBe(200)
    expect(await statusOf({})).toBe(401)
    expect(await statusOf({ authorization: 'Basic YTpi' }, '/api/notes/1/')).toBe(401)
    expect(await statusOf({ 'x-session': 'stale' }, '/api/notes/1/')).toBe(401)
  })

  const right =
    "it must return an identity, such as { subject: 'ann' }, or undefined for a request without its credential"
  test.each([
    { session: 'odd', says: 'an invalid subject; it must have 1 to 255 characters that PostgreSQL can store' },
    { session: 'text', says: 'roles that are not a list' },
    { session: 'claims', says: 'claims that are not an object' },
    { session: 'null', says: `null; ${right}` },
    { session: 'name', says: `a string; ${right}` },
  ])('that returns an invalid identity ($session) is 500, and the log names its plugin', async ({ session, says }) => {
    expect(await statusOf({ 'x-session': session })).toBe(500)
    const { cause } = api.logged.findLast(({ event }) => event === 'failure') as { cause?: Error }
    expect(cause?.message).toMatch(/^authenticate\('session'\) \(.*plugin.*\) returned /)
    expect(cause?.message.endsWith(`returned ${says}`)).toBe(true)
  })
})

describe('`check` reports', () => {
  const messagesOf = async (yaml: string, registered: Plugin): Promise<readonly string[]> => {
    const project = await makeProject({ 'resources.yaml': yaml, 'plugin.mjs': '' })
    const loaded = await loadApplication({
      file: `${project.folder}/resources.yaml`,
      env: {},
      importModule: async () => ({ default: registered }),
    })
    await project.remove()
    return loaded.ok ? [] : loaded.diagnostics.map(({ message }) => message)
  }
  const nobody = () => undefined

  test.each<[what: string, yaml: string, register: Plugin, message: string]>([
    ...['jwt', 'key', 'proxy', 'development'].map((name): [string, string, Plugin, string] => [
      `the name \`${name}\`, which is taken`,
      YAML,
      (app) => app.authenticate(name, nobody),
      `already a way to sign in named \`${name}\``,
    ]),
    [
      'a name that is given twice',
      YAML,
      (app) => ['session', 'session'].forEach((name) => app.authenticate(name, nobody)),
      'already a way to sign in named `session`',
    ],
    [
      'a configuration without `auth`',
      YAML.replace(/auth:[^]*?plugins/, 'plugins').replace(/ {4}access:[^]*/, ''),
      (app) => app.authenticate('session', nobody),
      "authenticate('session') needs `auth`",
    ],
  ])('%s', async (_what, yaml, registered, message) => {
    expect(await messagesOf(yaml, registered)).toEqual([expect.stringContaining(message)])
  })
})
