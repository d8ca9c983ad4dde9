import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeProject, type Project, runCli, startServe } from '../support/cli.js'
import { openTestDatabase } from '../support/database.js'

const CONFIG = `version: 1
plugins: [./plugin.mjs]
models:
  person:
    fields:
      id: { type: bigint, primary_key: true }
      address: { type: email }
      home: { type: url }
resources:
  person: { model: person, path: /people/ }
`
/** Its description refers to a schema of the document. */
const PLUGIN = `
const schema = { $ref: '#/components/schemas/Person' }
const operation = { summary: 'Anyone', responses: { 200: { description: 'One', content: { 'application/json': { schema } } } } }
export default (app) => app.route('GET', '/anyone/', 'anyone', () => ({ status: 200, body: {} }), operation)
`
/** At exit, reports the modules that the process has required. */
const WATCH = `
import Module from 'node:module'
const load = Module._load
const loaded = new Set()
Module._load = function (name, ...rest) {
  loaded.add(name)
  return load.call(this, name, ...rest)
}
process.on('exit', () => process.stderr.write('loaded ' + JSON.stringify([...loaded])))
`

let project: Project
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': CONFIG, 'plugin.mjs': PLUGIN })
})
afterAll(() => project.remove())

test('a service starts without the packages that only some requests need', async () => {
  const database = await openTestDatabase()
  const env = database.url === undefined ? {} : { DATABASE_URL: database.url }
  for (const command of ['plan --write all', 'up'])
    expect(await runCli(['migrate', ...command.split(' ')], { cwd: project.folder, env })).toMatchObject({ code: 0 })
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(WATCH)}`
  const serving = await startServe([], { cwd: project.folder, env: { ...env, NODE_OPTIONS } })
  const { code, stderr } = await serving.stop()
  expect(code).toBe(0)
  const loaded = JSON.parse(/loaded (\[.*\])/.exec(stderr)?.[1] ?? '[]') as readonly string[]
  expect(loaded.length).toBeGreaterThan(0)
  expect(loaded.filter((name) => /^(ajv|knex|objection)\b/.test(name))).toEqual([])
  await database.close()
})
