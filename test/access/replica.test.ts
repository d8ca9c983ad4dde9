import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { compileStoredKeys, makeKey } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { hasReplicas, type Replicated, startReplicated } from '../support/replicated.js'

const YAML = `version: 1
auth:
  keys: true
  user: { model: user, match: subject }
  sets: { mine: { of: membership.team, rows: { user: $user } } }
  development: { ann: {} }
models:
  user: { table: users, fields: { id: { type: bigint, primary_key: true }, subject: { type: string, max: 9, unique: true } } }
  team: { table: teams, fields: { id: { type: bigint, primary_key: true } } }
  membership:
    table: memberships
    fields:
      id: { type: bigint, primary_key: true }
      user: { type: belongs_to, model: user }
      team: { type: belongs_to, model: team }
resources:
  team: { model: team, path: /teams/, access: [{ to: signed_in, may: read, rows: { id__in: $mine } }] }
mounts:
  - { path: /more }
  - { path: /crud, dialect: crud }
`
const LAG = 300
const ROWS = `insert into users (subject) values ('ann'); insert into teams default values;
  insert into memberships (user_id, team_id) values (1, 1)`

const describeWithServers = hasReplicas ? describe : describe.skip

describeWithServers('50: what was revoked, with a replica that lags', () => {
  let replicated: Replicated
  let api: Api
  beforeAll(async () => {
    const ddl = ddlOf(specOf(YAML))
    replicated = await startReplicated([...[ddl].flat(), ROWS], LAG)
    api = await startApi(YAML, { database: replicated.database, checkResponses: false })
  })
  afterEach(async () => {
    jest.restoreAllMocks()
    await replicated.resume()
  })
  afterAll(async () => {
    await api?.close()
    await replicated?.close()
  })
  const teams = async (authorization: string, path = '/api/teams/') => {
    const response = await api.fetch(path, { headers: { authorization } })
    return [response.status, response.status === 200 ? ((await response.json()) as unknown[]).length : undefined]
  }

  test('a key is read from the primary', async () => {
    const { keys } = specOf(YAML)
    if (!keys) throw new Error('no keys')
    const stored = compileStoredKeys(keys)(replicated.database)
    await replicated.pause()
    const { key, ...made } = makeKey()
    await stored.add({ ...made, subject: 'ann', roles: [], claims: {} })
    expect((await teams(`Bearer ${key}`))[0]).toBe(200)
    await stored.revoke(made.id)
    const now = Date.now() + 11_000
    jest.spyOn(Date, 'now').mockImplementation(() => now)
    expect((await teams(`Bearer ${key}`))[0]).toBe(401)
  })

  test('a membership ends within the bound of the lag, at mounts and in dialects too', async () => {
    const paths = ['/api/teams/', '/more/teams/', '/crud/teams']
    const seen = async () => Promise.all(paths.map(async (path) => (await teams('Dev ann', path))[1]))
    expect(await seen()).toEqual([1, 1, 1])
    await replicated.pause()
    await replicated.database.query({ text: 'delete from memberships', values: [] })
    // Until then, an answer of the primary may be followed by one of the replica.
    for (const deleted = performance.now(); performance.now() - deleted < LAG; ) await seen()
    for (let n = 0; n < 5; n++) expect(await seen()).toEqual([0, 0, 0])
  })
})
