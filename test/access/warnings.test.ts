import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { loadApplication } from '../../src/internal.js'

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

/** What `check` says about the grants of tasks. */
const saidOf = async (
  grant: string,
  { task = '', indexes = '[]', note = '', more = '', models = '' } = {},
): Promise<readonly string[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  folders.push(folder)
  const file = join(folder, 'resources.yaml')
  await writeFile(
    file,
    `version: 1
auth: { roles: { names: [member, guest] }, claims: { tenant: { type: integer } } }
models:
  task:
    table: tasks
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer }
      done: { type: boolean, default: false }
      code: { type: string, max: 9, ${task} }
      made: { type: timestamp }
      ${more}
    indexes: ${indexes}
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, task: { type: belongs_to, model: task, on_delete: cascade } }
${models}
resources:
  task: { model: task, path: /tasks/, default_order: [-made], access: [${grant}] }
  note: { model: note, path: /notes/, access: [${note}] }
`,
  )
  const loaded = await loadApplication({ file, env: {} })
  const found = loaded.ok ? loaded.warnings() : loaded.diagnostics
  return found
    .filter(({ message }) => !message.includes('default order'))
    .map(({ code, message, help }) => `${code}: ${message} (${help.join('; ')})`)
}

const MADE = '[made, id]'

test('a rule on a column needs an index in the order of lists', async () => {
  const grant = '{ to: member, may: list, rows: { tenant: $tenant } }'
  expect(await saidOf(grant, { indexes: `[${MADE}]` })).toEqual([
    'SC401: no index serves the rule on `tenant` in the order of lists: each list reads all records that it allows (write under `models.task`: `indexes: [[made, id], [tenant, made, id]]`)',
  ])
  expect(await saidOf(grant, { indexes: `[${MADE}, [tenant, made, id]]` })).toEqual([])
  // Half of all records are found in any order.
  expect(await saidOf('{ to: member, may: list, rows: { done: false } }', { indexes: `[${MADE}]` })).toEqual([])
})

test('a unique value that reveals hidden records is a warning', async () => {
  const grant = '{ to: member, may: [create, retrieve], rows: { tenant: $tenant } }'
  expect(await saidOf(grant, { indexes: `[${MADE}]`, task: 'unique: true' })).toEqual([
    'SC411: `code` must be unique among all records, and this grant separates them by `tenant`: 409 tells that a hidden record has a value (make it unique within `tenant`: `indexes: [{ fields: [tenant, code], unique: true }]`)',
  ])
  const within = `[${MADE}, { fields: [tenant, code], unique: true }]`
  expect(await saidOf(grant, { indexes: within })).toEqual([])
  expect(
    await saidOf(grant.replace(' }', ' }, fields: [tenant, made]'), { indexes: `[${MADE}]`, task: 'unique: true' }),
  ).toEqual([])
})

test('a deletion that reaches records of other resources is a warning', async () => {
  const grant = '{ to: member, may: destroy }'
  const reach = [
    'SC412: deleting a `task` record also deletes its `note` records, which `member` may not delete (grant it `destroy` there, or write `on_delete: restrict` in the model `note`)',
  ]
  expect(await saidOf(grant, { indexes: `[${MADE}]` })).toEqual(reach)
  expect(await saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: guest, may: destroy }' })).toEqual(reach)
  expect(await saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: signed_in, may: destroy }' })).toEqual([])
})

test('a deletion that reaches records that the rows of no grant cover is a warning', async () => {
  const own = 'rows: { tenant: $tenant }'
  const said = (note: string, more = '') =>
    saidOf(`{ to: member, may: destroy, ${own} }`, { indexes: `[${MADE}]`, note, more })
  const reach = (name: string) => [
    `SC412: deleting a \`task\` record also deletes its \`${name}\` records, some of which \`member\` may not delete (grant it \`destroy\` there, or write \`on_delete: restrict\` in the model \`${name}\`)`,
  ]
  expect(await said('{ to: member, may: destroy, rows: { id__gt: 5 } }')).toEqual(reach('note'))
  expect(await said('{ to: member, may: destroy, rows: { task.tenant: 5 } }')).toEqual(reach('note'))
  expect(await said('{ to: member, may: destroy, rows: { task.tenant: $tenant } }')).toEqual([])
  expect(await said('{ to: member, may: destroy, rows: [{ id__gt: 5 }, { task.tenant: $tenant }] }')).toEqual([])
  const part = 'part_of: { type: belongs_to, model: task, nullable: true, on_delete: cascade }'
  expect(await said('{ to: member, may: destroy }', part)).toEqual(reach('task'))
  expect(await said('{ to: member, may: list }', part)).toEqual([
    ...reach('task'),
    'SC412: deleting a `task` record also deletes its `note` records, which `member` may not delete (grant it `destroy` there, or write `on_delete: restrict` in the model `note`)',
  ])
})

test('deletion reaches through the records of another model', async () => {
  const note = '{ to: member, may: list }'
  const text = await saidOf('{ to: member, may: destroy }', {
    note,
    models:
      '  reply: { table: replies, fields: { id: { type: bigint, primary_key: true }, note: { type: belongs_to, model: note, on_delete: cascade } } }',
  })
  expect(text).toContainEqual(
    expect.stringMatching(
      /^SC412: deleting a `task` record also deletes `reply` records \(through `note`\), which `member` may not delete /,
    ),
  )
})

test('an action that no plugin has is an error with the nearest name', async () => {
  expect(await saidOf('{ to: member, may: [list, retreive] }')).toEqual([
    'SC333: the resource `task` has no operation or action `retreive` (an operation or action with a similar name exists: `retrieve`)',
  ])
})
