import { afterEach, expect, test } from '@jest/globals'
import { decide } from '../../src/access/decide/decide.js'
import { knownBy } from '../../src/access/decide/situation.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'
import { specOf } from '../support/config.js'
import { envOf, openOnlyOnServer } from '../support/database.js'
import { verify } from '../support/verified.js'

const projects: Project[] = []
afterEach(() => Promise.all(projects.splice(0).map((project) => project.remove())))

const ANN = { subject: 'ann', roles: ['member'], claims: {} }
const MEMBER = JSON.stringify({ sub: ANN.subject, roles: ANN.roles })
const yamlWith = (access: string) => `version: 1
auth: { roles: { names: [member] } }
models:
  thing:
    table: things
    fields:
      id: { type: bigint, primary_key: true }
      n: { type: integer }
      price: { type: decimal, precision: 5, scale: 2, default: '1.00' }
      extra: { type: json, default: { b: [1, { c: x }], a: 1 } }
      list: { type: array, items: { type: integer }, default: [1, 2] }
resources:
  thing: { model: thing, path: /things/, access: [${access}] }
`
const FIELDS = '{ to: member, may: read }, { to: member, may: [create, change], fields: [n] }'

/** Runs on an empty database. */
const onEmpty = async (run: (url: string | undefined) => Promise<void>) => {
  const scratch = await openOnlyOnServer()
  try {
    await run(scratch?.url)
  } finally {
    await scratch?.close()
  }
}

test('a service has no difference where the default is an object or a list', () =>
  onEmpty(async (scratch) => {
    const yaml = yamlWith('{ to: member, may: all, rows: { n: 1 } }')
    const { code, differences, requests } = await verify(yaml, { scratch })
    expect({ code, differences }).toEqual({ code: 0, differences: [] })
    expect(requests).toBeGreaterThan(20)
  }))

test.each([
  { body: '{"n":1}', verdict: 'allowed: 201' },
  { body: '{"n":1,"extra":{"a":1,"b":[1,{"c":"x"}]},"list":[1,2],"price":"1"}', verdict: 'allowed: 201' },
  { body: '{"n":1,"extra":{"a":1,"b":[{"c":"x"},1]}}', verdict: 'denied: 403' },
  { body: '{"n":1,"list":[2,1]}', verdict: 'denied: 403' },
  { body: '{"n":1,"price":"1.01"}', verdict: 'denied: 403' },
])('a new record with $body is explained by the defaults of fields that no grant names', async ({ body, verdict }) => {
  const project = await makeProject({ 'resources.yaml': yamlWith(FIELDS) })
  projects.push(project)
  const database = await openOnlyOnServer()
  try {
    const options = { cwd: project.folder, env: envOf(database) }
    await runInHost(['migrate', 'plan', '--write', 'first'], options)
    await runInHost(['migrate', 'up'], options)
    const asked = ['access', '--as', MEMBER, 'POST', '/api/things/', '--database', '--data', body]
    const { stdout, stderr } = await runInHost(asked, options)
    expect({ stderr, verdict: stdout.split('\n')[1] }).toEqual({ stderr: '', verdict })
  } finally {
    await database?.close()
  }
})

test.each([
  { extra: '{"b": [1.0, null], "a": 1}', status: 200 },
  { extra: '{"a": 1, "b": [1, null]}', status: 200 },
  { extra: '{"a": 1, "b": [null, 1]}', status: 403 },
])('a change that sends $extra is decided by the value of the JSON', ({ extra, status }) => {
  const spec = specOf(yamlWith(FIELDS))
  const [resource] = spec.resources
  if (!resource) throw new Error('there is no resource')
  const stored = { id: '1', n: '1', price: '1.00', extra: '{"a": 1, "b": [1, null]}', list: '{1,2}' }
  const situation = { spec, resource, caller: ANN, known: knownBy(spec, ANN, () => [stored]) }
  expect(decide(situation, { operation: 'partial_update', id: ['1'], body: { n: '2', extra } }).status).toBe(status)
})

test.each([
  { managed: false, more: '' },
  { managed: true, more: 'indexes: [{ fields: [place], using: gist }, { fields: [place], unique: true }]' },
])('a service has no difference where an empty database lacks types, managed: $managed', ({ managed, more }) =>
  onEmpty(async (scratch) => {
    const yaml = yamlWith('{ to: member, may: all, rows: { n: 1 } }').replace(
      'table: things',
      `table: things
    managed: ${managed}
    ${more}`,
    )
    const fields = `place: { type: opaque, column_type: "geometry(Point,4326)", nullable: true }
      mood: { type: opaque, column_type: 'elsewhere."My mood"[]', ${managed ? 'nullable' : 'generated'}: true }
      at: { type: opaque, column_type: point, nullable: true }
      n: {`
    const { code, differences, empty, requests } = await verify(yaml.replace('n: {', fields), { scratch })
    expect({ code, differences, empty }).toEqual({ code: 0, differences: [], empty: [] })
    expect(requests).toBeGreaterThan(20)
  }),
)
