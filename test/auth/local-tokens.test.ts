import { createPublicKey } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'

const YAML = `version: 1
auth:
  jwt: { issuer: https://local.example, audience: https://api.example, algorithms: [ES256], keys: ./keys.json, typ: at+jwt }
  roles: { from: [realm, roles], names: [member] }
  claims: { tenant: { type: integer, from: [realm, tenant] } }
models:
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, owner: { type: string, max: 300 }, tenant: { type: integer } }
resources:
  note:
    model: note
    path: /notes/
    access: [{ to: member, may: all, rows: { owner: $sub, tenant: $tenant } }]
`

let project: Project
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML })
})
afterAll(() => project.remove())
const token = (...args: readonly string[]) => runInHost(['token', ...args], { cwd: project.folder })

describe('`token`', () => {
  test('makes a key pair once, and signs tokens that the service believes until they expire', async () => {
    const first = await token('--subject', 'ann', '--role', 'member', '--claim', 'tenant=7')
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('keys.private.json; keep the second out') })
    expect(statSync(join(project.folder, 'keys.private.json')).mode & 0o777).toBe(0o600)
    const { keys } = JSON.parse(readFileSync(join(project.folder, 'keys.json'), 'utf8'))
    expect(keys).toEqual([expect.not.objectContaining({ d: expect.anything() })])
    const second = await token('--subject', 'ann', '--for', '1s')
    expect(second).toMatchObject({ code: 0, stderr: '' })
    const api = await startApi(join(project.folder, 'resources.yaml'), { checkResponses: false })
    try {
      const send = async (tenant: number, signed: string) => {
        const headers = { authorization: `Bearer ${signed.trim()}` }
        return (await api.send('POST', '/api/notes/', { owner: 'ann', tenant }, headers)).status
      }
      expect(await send(7, first.stdout)).toBe(201)
      expect(await send(8, first.stdout)).toBe(403)
      expect(await send(7, second.stdout)).toBe(403)
      const { exp, iat } = JSON.parse(Buffer.from(second.stdout.split('.')[1] ?? '', 'base64url').toString())
      expect(exp - iat).toBe(1)
    } finally {
      await api.close()
    }
  })

  test('makes a missing file of public keys from the private key', async () => {
    await token('--subject', 'ann')
    const path = join(project.folder, 'keys.json')
    const before = readFileSync(path, 'utf8')
    rmSync(path)
    expect(await token('--subject', 'ann')).toMatchObject({
      code: 0,
      stderr: 'made keys.json from keys.private.json\n',
    })
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('serves as a signed assertion of a proxy, in the header of `jwt.header` alone', async () => {
    const other = await makeProject({ 'resources.yaml': YAML.replace('typ: at+jwt', 'header: X-Assertion') })
    const { stdout } = await runInHost(['token', '--subject', 'ann', '--role', 'member'], { cwd: other.folder })
    const api = await startApi(join(other.folder, 'resources.yaml'), { checkResponses: false })
    try {
      const statusOf = async (headers: Readonly<Record<string, string>>) =>
        (await api.fetch('/api/notes/', { headers })).status
      const token = stdout.trim()
      expect(await statusOf({ 'x-assertion': token })).toBe(200)
      expect(await statusOf({ 'x-assertion': `${token}x` })).toBe(401)
      expect(await statusOf({ authorization: `Bearer ${token}` })).toBe(401)
      expect(await statusOf({ 'x-assertion': token, authorization: `Bearer ${token}` })).toBe(400)
    } finally {
      await api.close()
      await other.remove()
    }
  })

  test('does not sign for keys of another issuer', async () => {
    const other = await makeProject({ 'resources.yaml': YAML, 'keys.json': '{"keys":[]}' })
    const outcome = await runInHost(['token', '--subject', 'ann'], { cwd: other.folder })
    await other.write('resources.yaml', YAML.replace(', keys: ./keys.json', ''))
    const fetched = await runInHost(['token', '--subject', 'ann'], { cwd: other.folder })
    await other.remove()
    expect(outcome).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the private key of keys.json is missing'),
    })
    expect(fetched).toMatchObject({ code: 2, stderr: expect.stringContaining('come from another issuer') })
  })

  test('makes the folder of the keys, and says which file has no key', async () => {
    const other = await makeProject({ 'resources.yaml': YAML.replace('./keys.json', './secrets/keys.json') })
    const sign = () => runInHost(['token', '--subject', 'ann'], { cwd: other.folder })
    const made = await sign()
    await other.write('secrets/keys.private.json', '{')
    const damaged = await sign()
    await other.remove()
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('made secrets/keys.json') })
    expect(damaged).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: secrets/keys.private.json is not a private key in JSON: '),
    })
  })

  const other = async (files: Readonly<Record<string, string>>) => {
    const made = await makeProject({ 'resources.yaml': YAML, ...files })
    const sign = () => runInHost(['token', '--subject', 'ann'], { cwd: made.folder })
    const read = (file: string) => readFileSync(join(made.folder, file), 'utf8')
    return { ...made, sign, read }
  }

  test.each([
    { text: '{}' },
    { text: 'null' },
    { text: '[]' },
    { text: '{"kty":"EC","alg":"ES256","kid":"a","crv":"P-256","x":"a","y":"a"}' },
  ])('rejects $text as a private key', async ({ text }) => {
    const { sign, remove } = await other({ 'keys.json': '{"keys":[]}', 'keys.private.json': text })
    const outcome = await sign()
    await remove()
    const stderr = expect.stringMatching(
      /^error: keys\.private\.json is not a private key: it must be .+\n {2}= help: restore/,
    )
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr })
  })

  test('rejects a key of an algorithm that the service does not accept', async () => {
    const { sign, write, remove } = await other({})
    await sign()
    await write('resources.yaml', YAML.replace('ES256', 'RS256, PS256'))
    const outcome = await sign()
    await remove()
    expect(outcome).toMatchObject({ code: 2, stdout: '' })
    expect(outcome.stderr).toContain(
      'error: the key in keys.private.json signs with ES256, and `auth.jwt.algorithms` only has RS256, PS256\n',
    )
    expect(outcome.stderr).toContain('add ES256 to `algorithms`, or delete both files to make a new pair')
  })

  test('rejects a key whose public half the service does not have', async () => {
    const [one, two] = [await other({}), await other({})]
    await one.sign()
    await two.sign()
    await one.write('keys.json', two.read('keys.json'))
    const outcome = await one.sign()
    await one.write('keys.json', '{')
    const damaged = await one.sign()
    for (const { remove } of [one, two]) await remove()
    const message = 'error: the keys in keys.json do not verify tokens that the key in keys.private.json has signed\n'
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
    const unreadable = 'error: the keys in keys.json cannot be read: '
    expect(damaged).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(unreadable) })
  })

  test.each([
    { rule: 'is for another algorithm', change: { alg: 'ES384' } },
    { rule: 'is for encryption', change: { use: 'enc' } },
    { rule: 'may not verify', change: { key_ops: ['deriveKey'] } },
    { rule: 'has another identifier', change: { kid: 'other' } },
  ])('rejects a key whose public half $rule', async ({ change }) => {
    const { sign, write, read, remove } = await other({})
    await sign()
    const [key] = JSON.parse(read('keys.json')).keys
    await write('keys.json', JSON.stringify({ keys: [{ ...key, ...change }] }))
    const outcome = await sign()
    await remove()
    const message = 'error: the keys in keys.json do not verify tokens that the key in keys.private.json has signed\n'
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })

  test.each([{ change: { d: '!!' } }, { change: { x: '' } }, { change: { kty: 'RSA' } }])(
    'writes no public half of an invalid private key: $change',
    async ({ change }) => {
      const { sign, write, read, folder, remove } = await other({})
      await sign()
      await write('keys.private.json', JSON.stringify({ ...JSON.parse(read('keys.private.json')), ...change }))
      const withBoth = await sign()
      rmSync(join(folder, 'keys.json'))
      const alone = await sign()
      const isWritten = existsSync(join(folder, 'keys.json'))
      await remove()
      const stderr = expect.stringMatching(
        /^error: the key in keys\.private\.json cannot sign: .+\n {2}= help: restore it/,
      )
      expect(withBoth).toMatchObject({ code: 2, stdout: '', stderr })
      expect(alone).toMatchObject({ code: 2, stdout: '', stderr })
      expect(isWritten).toBe(false)
    },
  )

  test('prints no token that is too long for the service', async () => {
    const list = (length: number) => `tenant=[${Array.from({ length }, (_, index) => 1_000 + index).join(',')}]`
    const [long, short] = [
      await token('--subject', 'ann', '--claim', list(1_300)),
      await token('--subject', 'ann', '--role', 'member', '--claim', list(1_100)),
    ]
    const { length } = short.stdout.trim()
    expect(long).toMatchObject({ code: 2, stdout: '' })
    expect(long.stderr).toMatch(
      /^error: the token has \d{4} characters, and the service rejects tokens of more than 8192\n {2}= help: give fewer/,
    )
    expect(length).toBeGreaterThan(7_500)
    expect(length).toBeLessThan(8_193)
    const api = await startApi(join(project.folder, 'resources.yaml'), { checkResponses: false })
    const headers = { authorization: `Bearer ${short.stdout.trim()}` }
    const { status } = await api.fetch('/api/notes/', { headers })
    await api.close()
    expect(status).toBe(200)
  })

  test('signs by a key whose public half is in PEM', async () => {
    const { sign, write, read, remove } = await other({})
    await sign()
    const [key] = JSON.parse(read('keys.json')).keys
    await write('keys.json', createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString())
    const outcome = await sign()
    await remove()
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
  })

  test('says that a project without tokens accepts none', async () => {
    const other = await makeProject({
      'resources.yaml': YAML.replace(/ {2}jwt: .*\n/, '  keys: true\n').replace(
        /(?:, )?from: \[realm, \w+\](?:, )?/g,
        '',
      ),
    })
    const outcome = await runInHost(['token', '--subject', 'ann'], { cwd: other.folder })
    await other.remove()
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('it has no `auth.jwt`') })
  })

  test('rejects a role that the configuration does not have', async () => {
    expect(await token('--subject', 'ann', '--role', 'root')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no role is named `root`'),
    })
  })
})
