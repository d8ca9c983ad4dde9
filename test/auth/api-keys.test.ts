import { rm } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { compileStoredKeys, makeKey, type StoredKeys } from '../../src/internal.js'
import { loadSpec } from '../../src/load.js'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
auth:
  keys: true
  roles: { names: [meter, dashboard] }
  claims: { site: { type: integer }, zones: { type: string } }
models:
  reading:
    table: readings
    fields:
      id: { type: bigint, primary_key: true }
      source: { type: string, max: 255 }
      site: { type: integer, nullable: true }
      value: { type: integer }
resources:
  reading:
    model: reading
    path: /readings/
    access:
      - { to: meter, may: create, set: { source: $sub } }
      - { to: dashboard, may: list, rows: { site: $site } }
      - { to: signed_in, may: retrieve }
`
const NOBODY = { roles: [], claims: {} }

let project: Project
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML })
})
afterAll(() => project.remove())

describe('a request with an API key', () => {
  let api: Api
  let stored: StoredKeys
  const asked: string[] = []
  beforeAll(async () => {
    api = await startApi(YAML)
    const loaded = await loadSpec(`${project.folder}/resources.yaml`)
    if (!loaded.ok || !loaded.spec.keys) throw new Error('the configuration has no keys')
    stored = compileStoredKeys(loaded.spec.keys)(api.database)
    const { query } = api.database
    api.database.query = (statement) => {
      if (statement.text.includes('snippetctl_keys')) asked.push(statement.text)
      return query.call(api.database, statement)
    }
  })
  afterAll(() => api.close())
  beforeEach(() => void asked.splice(0))
  afterEach(() => void jest.restoreAllMocks())

  const add = async (key: Partial<Parameters<StoredKeys['add']>[0]>, seconds?: number): Promise<string> => {
    const { key: text, ...made } = makeKey()
    await stored.add({ subject: 'meter-7', ...NOBODY, ...made, ...key }, seconds)
    return text
  }
  const get = (key: string, path = '/api/readings/') => api.fetch(path, { headers: { authorization: `Bearer ${key}` } })
  const problemOf = async (response: Response) => [response.status, (await response.json()).detail]
  const later = (seconds: number) => {
    const now = Date.now() + seconds * 1000
    jest.spyOn(Date, 'now').mockImplementation(() => now)
  }

  test('has its subject, its roles and its claims', async () => {
    const meter = await add({ roles: ['meter'] })
    const made = await api.send('POST', '/api/readings/', { site: 3, value: 5 }, { authorization: `Bearer ${meter}` })
    expect(made.status).toBe(201)
    expect((await get(meter)).status).toBe(403)
    const seenBy = async (claims: Readonly<Record<string, number>>) =>
      (await (await get(await add({ roles: ['dashboard'], claims }))).json()) as unknown[]
    expect(await seenBy({ site: 3 })).toMatchObject([{ source: 'meter-7', value: 5 }])
    expect(await seenBy({ site: 4 })).toEqual([])
    expect(await seenBy({})).toEqual([])
  })

  test('has no role that the configuration no longer has', async () => {
    expect((await get(await add({ roles: ['gone', 'admin'] }))).status).toBe(403)
  })

  test('asks the database once in ten seconds, however many requests there are', async () => {
    const key = await add({ roles: ['dashboard'] })
    await Promise.all(Array.from({ length: 20 }, () => get(key).then((response) => response.text())))
    await (await get(key)).text()
    expect(asked.filter((text) => text.startsWith('select'))).toHaveLength(1)
    later(11)
    await (await get(key)).text()
    expect(asked.filter((text) => text.startsWith('select'))).toHaveLength(2)
  })

  test('23: revoked is 401, after ten seconds also where it was believed', async () => {
    const key = await add({ roles: ['dashboard'] })
    expect((await get(key)).status).toBe(200)
    await stored.revoke(key.split('_')[1] ?? '')
    later(11)
    expect(await problemOf(await get(key))).toEqual([401, 'the API key was revoked'])
  })

  test('23: revoked is 401 after ten seconds, also if the clock was set back by a day', async () => {
    const key = await add({ roles: ['dashboard'] })
    expect((await get(key)).status).toBe(200)
    await stored.revoke(key.split('_')[1] ?? '')
    later(-86_400)
    const now = performance.now.bind(performance)
    expect((await get(key)).status).toBe(200)
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 10_000)
    expect(await problemOf(await get(key))).toEqual([401, 'the API key was revoked'])
  })

  test('23: expired is 401, also while it is believed', async () => {
    const key = await add({ roles: ['dashboard'] }, 5)
    expect((await get(key)).status).toBe(200)
    later(6)
    expect(await problemOf(await get(key))).toEqual([401, 'the API key has expired'])
  })

  test.each<readonly [string, (key: string) => string, boolean]>([
    ['truncated', (key) => key.slice(0, -1), false],
    ['with the secret of another', (key) => key.slice(0, 21) + makeKey().key.slice(21), true],
    ['that does not exist', () => makeKey().key, true],
    ['with SQL in its identifier', (key) => key.replace(/snk_./, "snk_'"), false],
    ['without a secret', (key) => key.slice(0, 21), false],
  ])('23: %s is 401', async (_what, spoil, asksDatabase) => {
    const response = await get(spoil(await add({ roles: ['dashboard'] })))
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect(await problemOf(response)).toEqual([401, 'the API key is not valid here'])
    expect(asked.some((text) => text.startsWith('select'))).toBe(asksDatabase)
  })

  test('24: is compared by its hash; the table and the log do not have it', async () => {
    const key = await add({ roles: ['dashboard'] })
    await (await get(key)).text()
    const { rows } = await api.database.query({ text: 'select to_json(k)::text from snippetctl_keys k', values: [] })
    const secret = key.slice(21)
    expect(rows.flat().join()).toContain(key.slice(4, 20))
    expect(rows.flat().join() + JSON.stringify(api.logged)).not.toContain(secret)
  })

  test('has an identifier that no other key has', async () => {
    const { key: _key, ...made } = makeKey()
    await stored.add({ subject: 'meter-7', ...NOBODY, ...made }, undefined)
    await expect(stored.add({ subject: 'meter-8', ...NOBODY, ...made }, undefined)).rejects.toMatchObject({
      type: 'conflict',
    })
  })
})

describe('`keys`', () => {
  let database: TestDatabase | undefined
  beforeAll(async () => {
    database = await openOnlyOnServer()
    expect((await run('migrate', 'plan', '--write')).code).toBe(0)
    expect((await run('migrate', 'up')).code).toBe(0)
  })
  afterAll(() => database?.close())
  const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder, env: envOf(database) })

  test('create prints the key alone; list shows it without its secret; revoke ends it', async () => {
    const made = await run('keys', 'create', '--subject', 'meter-7', '--role', 'meter', '--claim', 'site=3')
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^snk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}\n$/) })
    const id = made.stdout.slice(4, 20)
    expect(made.stderr).toContain(`key ${id} for \`meter-7\`, expires `)
    const listed = await run('keys', 'list')
    expect(listed.stdout).toMatch(new RegExp(`${id}  meter-7  meter  +\\d{4}-\\d\\d-\\d\\d  expires \\d{4}`))
    expect(listed.stdout).not.toContain(made.stdout.slice(21).trim())
    expect(JSON.parse((await run('keys', 'list', '--json')).stdout)).toMatchObject({
      schemaVersion: 1,
      keys: [{ id, subject: 'meter-7', roles: ['meter'], claims: { site: 3 }, revokedAt: null }],
    })
    const other = JSON.parse((await run('keys', 'create', '--subject', 'meter-8', '--json')).stdout)
    expect(other).toMatchObject({ schemaVersion: 1, key: expect.stringMatching(/^snk_/), subject: 'meter-8' })
    const { stdout } = await run('keys', 'revoke', other.id, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, id: other.id, revokedAt: expect.any(String) })
    expect(await run('keys', 'revoke', id)).toMatchObject({ code: 0, stdout: `key ${id} for \`meter-7\` is revoked\n` })
    expect((await run('keys', 'list')).stdout).toContain('  revoked 2')
  })

  test('subjects are shown on one line, and each role once', async () => {
    const made = await run('keys', 'create', '--subject', 'a\n\u001bb', '--role', 'meter', 'meter')
    const id = made.stdout.slice(4, 20)
    const shown = String.raw`a\u000a\u001bb`
    expect(made.stderr).toContain(`key ${id} for \`${shown}\`, expires `)
    expect((await run('keys', 'list')).stdout).toContain(`${id}  ${shown}  meter  `)
    expect((await run('keys', 'revoke', id)).stdout).toBe(`key ${id} for \`${shown}\` is revoked\n`)
  })

  test('create makes keys that are valid for a hundred years', async () => {
    const made = await run('keys', 'create', '--subject', 'meter-7', '--expires', '100y')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/expires 2[0-9]{3}-/) })
  })

  test.each([
    { what: 'a table differs from the configuration', args: ['--config', 'other.yaml'], files: {} },
    { what: 'a migration is pending', args: [], files: { 'migrations/9999_later.sql': '-- up\nselect 1;\n-- down\n' } },
  ])('work while $what', async ({ args, files }) => {
    await project.write('other.yaml', YAML.replace('value: {', 'value: { nullable: true,'))
    for (const [file, text] of Object.entries(files)) await project.write(file, text)
    const made = await run('keys', 'create', '--subject', 'meter-9', ...args)
    const id = made.stdout.slice(4, 20)
    const listed = await run('keys', 'list', ...args)
    const revoked = await run('keys', 'revoke', id, ...args)
    for (const file of Object.keys(files)) await rm(`${project.folder}/${file}`)
    expect([made.code, listed, revoked]).toMatchObject([
      0,
      { code: 0, stdout: expect.stringContaining(`${id}  meter-9`) },
      { code: 0, stdout: `key ${id} for \`meter-9\` is revoked\n` },
    ])
  })

  test('say which migration is pending while their own table is missing', async () => {
    const empty = await openOnlyOnServer()
    const other = await makeProject({ 'resources.yaml': YAML })
    const inOther = (...args: readonly string[]) => runInHost(args, { cwd: other.folder, env: envOf(empty) })
    await inOther('migrate', 'plan', '--write', 'tables')
    const outcome = await inOther('keys', 'list')
    await other.remove()
    await empty?.close()
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('1 migration is pending: 0001_tables') })
  })

  test.each([
    ['a role', ['--role', 'metre'], 'no role is named `metre`'],
    ['a claim', ['--claim', 'sight=3'], 'no claim is named `sight`'],
    ['a value of another type', ['--claim', 'site="x"'], 'the value of --claim site must be a JSON integer'],
    [
      'a fraction',
      ['--claim', 'site=1.5'],
      'the value of --claim site must be a JSON integer, or a list of them; got 1.5',
    ],
    ['a claim twice', ['--claim', 'site=3', '--claim', 'site=4'], '--claim site is given twice; write several values'],
    [
      'a number',
      ['--claim', 'site=9007199254740993'],
      '--claim site=9007199254740993 has a number that cannot be compared exactly',
    ],
    ['a claim without a value', ['--claim', 'site'], '--claim must be name=value; got `site`'],
    ['a duration', ['--expires', '3 weeks'], '--expires is a whole number with a unit, not `3 weeks`'],
  ])('create rejects %s that it does not know', async (_what, args, message) => {
    const outcome = await run('keys', 'create', '--subject', 'meter-7', ...args)
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })

  test('revoke reports an identifier that no key has', async () => {
    expect(await run('keys', 'revoke', 'nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no key `nothing`'),
    })
  })

  test('need `auth.keys`', async () => {
    const other = await makeProject({ 'resources.yaml': YAML.replace('  keys: true\n', '') })
    const outcome = await runInHost(['keys', 'list'], { cwd: other.folder, env: envOf(database) })
    await other.remove()
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('add `keys: true` to `auth`') })
  })
})
