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
  { task = '', indexes = '[]', note = '', more = '', models = '', computed = '' } = {},
): Promise<readonly string[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  folders.push(folder)
  const file = join(folder, 'resources.yaml')
  await writeFile(
    file,
    `version: 1${computed && '\nplugins: [./plugin.mjs]'}
auth: { roles: { names: [member, guest] }, claims: { tenant: { type: integer }, name: { type: string } } }
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
  task: { model: task, path: /tasks/, default_order: [-made], access: [${grant}]${computed} }
  note: { model: note, path: /notes/, access: [${note}] }
`,
  )
  await writeFile(join(folder, 'plugin.mjs'), PLUGIN)
  const loaded = await loadApplication({ file, env: {} })
  const found = loaded.ok ? loaded.warnings() : loaded.diagnostics
  return found
    .filter(({ message }) => !message.includes('default order'))
    .map(({ code, message, help }) => `${code}: ${message} (${help.join('; ')})`)
}

const PLUGIN = `export default (app) => {
  app.compute('task', 'label', () => '')
  app.action('task', 'claim', { summary: 'Claim', handle: () => undefined })
  app.action('task', 'sum', { summary: 'Sum', on: 'collection', handle: () => undefined })
}`

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
    'SC411: `code` must be unique among all records, and this grant separates them by `tenant`: a 409 reveals that a hidden record has a value (make it unique within `tenant`: `indexes: [{ fields: [tenant, code], unique: true }]`)',
  ])
  const within = `[${MADE}, { fields: [tenant, code], unique: true }]`
  expect(await saidOf(grant, { indexes: within })).toEqual([])
  expect(
    await saidOf(grant.replace(' }', ' }, fields: [tenant, made]'), { indexes: `[${MADE}]`, task: 'unique: true' }),
  ).toEqual([])
})

test('SC411 does not advise to make a value unique within a field that differs in every record', async () => {
  const grant = '{ to: member, may: [create, retrieve], rows: { number: $tenant } }'
  const more = 'number: { type: integer, unique: true }'
  expect(await saidOf(grant, { indexes: `[${MADE}]`, task: 'unique: true', more })).toEqual([
    'SC411: `code` must be unique among all records, and this grant separates them by `number`: a 409 reveals that a hidden record has a value (' +
      '`number` differs in every record, so values cannot be unique within it: add a field that has the same value in all records of one caller, use it in the grant, and make `code` unique within it)',
  ])
})

test('a deletion that reaches records of other resources is a warning', async () => {
  const grant = '{ to: member, may: [retrieve, destroy] }'
  const reach = [
    'SC412: deleting a `task` record also deletes its `note` records, which `member` may not delete (grant it `destroy` there, or write `on_delete: restrict` in the model `note`)',
  ]
  expect(await saidOf(grant, { indexes: `[${MADE}]` })).toEqual(reach)
  expect(await saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: guest, may: [retrieve, destroy] }' })).toEqual(reach)
  expect(await saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: signed_in, may: [retrieve, destroy] }' })).toEqual([])
})

test('a deletion that reaches records that the rows of no grant cover is a warning', async () => {
  const own = 'rows: { tenant: $tenant }'
  const said = (note: string, more = '') =>
    saidOf(`{ to: member, may: [retrieve, destroy], ${own} }`, { indexes: `[${MADE}]`, note, more })
  const reach = (name: string) => [
    `SC412: deleting a \`task\` record also deletes its \`${name}\` records, some of which \`member\` may not delete (grant it \`destroy\` there, or write \`on_delete: restrict\` in the model \`${name}\`)`,
  ]
  expect(await said('{ to: member, may: [retrieve, destroy], rows: { id__gt: 5 } }')).toEqual(reach('note'))
  expect(await said('{ to: member, may: [retrieve, destroy], rows: { task.tenant: 5 } }')).toEqual(reach('note'))
  expect(await said('{ to: member, may: [retrieve, destroy], rows: { task.tenant: $tenant } }')).toEqual([])
  expect(
    await said('{ to: member, may: [retrieve, destroy], rows: [{ id__gt: 5 }, { task.tenant: $tenant }] }'),
  ).toEqual([])
  const part = 'part_of: { type: belongs_to, model: task, nullable: true, on_delete: cascade }'
  expect(await said('{ to: member, may: [retrieve, destroy] }', part)).toEqual(reach('task'))
  expect(await said('{ to: member, may: list }', part)).toEqual([
    ...reach('task'),
    'SC412: deleting a `task` record also deletes its `note` records, which `member` may not delete (grant it `destroy` there, or write `on_delete: restrict` in the model `note`)',
  ])
})

test.each([
  ['tenant: $tenant', 'tenant: $tenant', true],
  ['tenant: $tenant', 'tenant__in: [5]', false],
  ['tenant: $tenant', 'other: $tenant', false],
  ['id__gt: 5', 'tenant: $tenant', false],
])('grants of a relation over several fields: whether %s covers %s', async (rows, partRows, isCovered) => {
  const found = await saidOf(`{ to: member, may: [retrieve, destroy], rows: { ${rows} } }`, {
    indexes: `[${MADE}, { fields: [tenant, id], unique: true }]`,
    note: `{ to: signed_in, may: all }] }
  part: { model: part, path: /parts/, access: [{ to: member, may: [retrieve, destroy], rows: { ${partRows} } }`,
    models: `  part:
    fields: { id: { type: bigint, primary_key: true }, tenant: { type: integer }, other: { type: integer }, whole: { type: bigint } }
    relations: { task: { model: task, fields: [tenant, whole], references: [tenant, id], on_delete: cascade } }`,
  })
  expect(found.filter((text) => text.startsWith('SC3'))).toEqual([])
  const reached =
    'SC412: deleting a `task` record also deletes its `part` records, some of which `member` may not delete'
  expect(found.filter((text) => text.startsWith(reached))).toHaveLength(isCovered ? 0 : 1)
})

test.each([
  ['string', 'owner: $sub', true],
  ['string, collation: fold', 'owner: $sub', false],
  ['string, collation: fold', 'owner: $name', true],
  ['string, collation: fold', 'owner__startswith: a', false],
])('deletion reaches records whose %s equals that of %s', async (type, rows, isCovered) => {
  const found = await saidOf(`{ to: member, may: [retrieve, destroy], rows: { ${rows} } }`, {
    more: `owner: { type: ${type}, max: 9 }`,
    indexes: `[${MADE}, { fields: [owner, id], unique: true }]`,
    note: `{ to: signed_in, may: all }] }
  part: { model: part, path: /parts/, access: [{ to: member, may: [retrieve, destroy], rows: { ${rows} } }`,
    models: `  part:
    fields: { id: { type: bigint, primary_key: true }, owner: { type: ${type}, max: 9 }, whole: { type: bigint } }
    relations: { task: { model: task, fields: [owner, whole], references: [owner, id], on_delete: cascade } }`,
  })
  expect(found.filter((text) => text.startsWith('SC3'))).toEqual([])
  expect(
    found.filter((text) => text.startsWith('SC412: deleting a `task` record also deletes its `part`')),
  ).toHaveLength(isCovered ? 0 : 1)
})

test('deletion reaches through the records of another model', async () => {
  const note = '{ to: member, may: list }'
  const text = await saidOf('{ to: member, may: [retrieve, destroy] }', {
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

test('a deletion that changes records of other resources is a warning', async () => {
  const own = 'rows: { tenant: $tenant }'
  const more = 'part_of: { type: belongs_to, model: task, nullable: true, on_delete: set_null }'
  const note = '{ to: member, may: [retrieve, destroy] }'
  const said = (grant: string) => saidOf(grant, { indexes: `[${MADE}]`, note, more })
  const reach = (some: string) => [
    `SC412: deleting a \`task\` record also sets \`part_of\` of its \`task\` records to null, ${some}which \`member\` may not change (grant it \`change\` there, or write \`on_delete: restrict\` in the model \`task\`)`,
  ]
  expect(await said(`{ to: member, may: [retrieve, destroy], ${own} }`)).toEqual(reach(''))
  expect(await said(`{ to: member, may: [retrieve, destroy, change], fields: [code], ${own} }`)).toEqual(reach(''))
  expect(await said(`{ to: member, may: [retrieve, destroy, change], ${own} }`)).toEqual(reach('some of '))
  expect(
    await said(`{ to: member, may: [retrieve, destroy], ${own} }, { to: signed_in, may: [retrieve, change] }`),
  ).toEqual([])
  expect(
    await said(`{ to: member, may: [retrieve, destroy], ${own} }, { to: guest, may: [retrieve, change] }`),
  ).toEqual(reach(''))
  expect(await said('{ to: member, may: list }')).toEqual([])
})

test('a deletion changes records through those of another model', async () => {
  const models =
    '  reply: { table: replies, fields: { id: { type: bigint, primary_key: true }, note: { type: belongs_to, model: note, nullable: true, on_delete: set_null } } }'
  expect(await saidOf('{ to: member, may: [retrieve, destroy] }', { models })).toContainEqual(
    expect.stringMatching(
      /^SC412: deleting a `task` record also sets `note` of `reply` records \(through `note`\) to null, which `member` may not change /,
    ),
  )
})

test('a computed field with a field that `except` hides is a warning', async () => {
  const computed = ', computed: { label: { from: [code, tenant, done], type: string } }'
  const said = async (grant: string) => {
    const found = await saidOf(grant, { indexes: `[${MADE}]`, computed })
    expect(found.filter((text) => /^SC3/.test(text))).toEqual([])
    return found.filter((text) => text.startsWith('SC414'))
  }
  expect(await said('{ to: member, may: read, fields: { except: [code, done] } }')).toEqual([
    'SC414: the grant to `member` hides `code` and `done`, and shows `label`, which is computed from them (hide it, too: `except: [code, done, label]`; or list the fields that the grant shows, if its values may be seen)',
  ])
  for (const fields of ['{ except: [id] }', '{ except: [code, label] }', '[made, label]'])
    expect(await said(`{ to: member, may: read, fields: ${fields} }`)).toEqual([])
  expect(await said('{ to: member, may: destroy, fields: { except: [code] } }')).toEqual([])
})

test('a change of records that nobody may retrieve is a warning', async () => {
  const said = (grant: string) => saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: signed_in, may: all }' })
  expect(await said('{ to: member, may: [list, partial_update] }')).toEqual([
    'SC415: no grant of `task` has `retrieve`, so `member` gets 404 for each record that it may change or delete (add `retrieve`, with the same `rows`, and `fields` for what it may see)',
  ])
  const within = await said('{ to: member, may: change }], operations: [list, update, partial_update')
  expect(within).toEqual([expect.stringContaining('(add `retrieve` to `operations` and here, with')])
  expect(await said('{ to: member, may: [create, list] }')).toEqual([])
  expect(await said('{ to: member, may: destroy }, { to: guest, may: read }')).toEqual([])
})

test('an action on records that nobody may retrieve is a warning', async () => {
  const computed = ', computed: { label: { from: [code], type: string } }'
  const said = (grant: string) => saidOf(grant, { indexes: `[${MADE}]`, note: '{ to: signed_in, may: all }', computed })
  const warned = (action: string) => [
    `SC415: no grant of \`task\` has \`retrieve\`, so \`member\` gets 404 for each record on which it may run the action \`${action}\` (add \`retrieve\`, with the same \`rows\`, and \`fields\` for what it may see)`,
  ]
  expect(await said('{ to: guest, may: [list, sum] }, { to: member, may: [list, claim] }')).toEqual(warned('claim'))
  const listed = await said('{ to: member, may: all }], operations: [list')
  expect(listed).toEqual([expect.stringMatching(/`claim` \(add `retrieve` to `operations` and here, with/)])
  expect(await said('{ to: member, may: [claim, retrieve] }')).toEqual([])
  expect(await said('{ to: member, may: claim }, { to: guest, may: read }')).toEqual([])
  expect(await said('{ to: member, may: [list, sum] }')).toEqual([])
})
