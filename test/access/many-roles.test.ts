import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Context } from '../../src/index.js'
import { type App, loadApplication } from '../../src/internal.js'
import { openApiRoutes } from '../../src/openapi/serve.js'

const ROLES = Array.from({ length: 13 }, (_, index) => `role${index}`)
const YAML = `version: 1
auth:
  roles: { names: [${ROLES.join(', ')}, idle, twin] }
  routes: { openapi: anyone }
  development: { ann: {} }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 50 } } }
resources:
  note:
    model: note
    path: /notes/
    access:
${[...ROLES, 'twin'].map((role) => `      - { to: ${role}, may: ${role === 'role1' ? 'all' : 'read'} }`).join('\n')}
`

let folder: string
let app: App
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  const file = join(folder, 'resources.yaml')
  await writeFile(file, YAML)
  const loaded = await loadApplication({ file, env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  app = loaded.app
})
afterAll(() => rm(folder, { recursive: true }))

const identityOf = (roles: readonly string[]) => ({ subject: 'ann', method: 'jwt', roles, claims: {} })
/** The roles of the n-th combination. */
const combination = (n: number) => ROLES.filter((_, index) => (n >> index) & 1)
const profileOf = (identity: ReturnType<typeof identityOf>) => app.access?.profiles(identity)

describe('profiles', () => {
  test('are made once for each of 256 combinations of roles', () => {
    const first = Array.from({ length: 256 }, (_, n) => profileOf(identityOf(combination(n))))
    const again = Array.from({ length: 256 }, (_, n) => profileOf(identityOf(combination(n))))
    expect(again.filter((profile, n) => profile !== first[n])).toEqual([])
  })

  test('are the same with a role that nothing names', () => {
    expect(profileOf(identityOf(['role1', 'idle']))).toBe(profileOf(identityOf(['role1'])))
  })

  test('are not kept by an identity', () => {
    const identity = identityOf(['role1'])
    const first = profileOf(identity)
    for (let n = 0; n < 8_192; n += 1) profileOf(identityOf(combination(n)))
    expect(profileOf(identity)).not.toBe(first)
    expect(profileOf(identity)).toBe(profileOf(identity))
  })

  test('take a resource of an older profile for the same roles as their own', () => {
    const [note] = app.resources
    if (!note) throw new Error('there is no resource')
    const identity = identityOf(['role2'])
    const resource = profileOf(identity)?.resource(note)
    if (!resource) throw new Error('there is no profile')
    for (let n = 0; n < 8_192; n += 1) profileOf(identityOf(combination(n)))
    expect(profileOf(identity)?.resource(resource)).toBe(resource)
    expect(profileOf(identityOf(['role1']))?.resource(note)).not.toBe(resource)
  })
})

test('an OpenAPI document is made once for roles whose grants allow the same', async () => {
  const { access } = app
  if (!access) throw new Error('there are no grants')
  let made = 0
  const [document] = openApiRoutes({
    ...app,
    access: {
      ...access,
      routesFor: (profile) => {
        made += 1
        return access.routesFor(profile)
      },
    },
  })
  const textFor = async (...roles: readonly string[]) =>
    JSON.stringify(await document?.handle({ headers: {}, identity: identityOf(roles) } as unknown as Context))
  const reading = await textFor('role0')
  expect(await textFor('twin')).toBe(reading)
  expect(await textFor('role0', 'twin')).toBe(reading)
  expect(made).toBe(1)
  expect(await textFor('role1')).not.toBe(reading)
  expect(made).toBe(2)
})
