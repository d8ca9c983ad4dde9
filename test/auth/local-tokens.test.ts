import { readFileSync, rmSync, statSync } from 'node:fs'
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
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no private key for keys.json') })
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
