import { beforeEach, expect, test } from '@jest/globals'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { type Folder, makeFolder, openForEach, specOf } from '../../support/migrations.js'

const INVOICES = `-- up
create table invoices (
  id bigint generated always as identity constraint invoices_pkey primary key,
  tenant integer not null,
  constraint invoices_tenant_id_key unique (tenant, id)
);
create table lines (
  id bigint generated always as identity constraint lines_pkey primary key,
  tenant integer not null,
  invoice bigint not null,
  constraint line_of_invoice foreign key (tenant, invoice) references invoices (tenant, id) on delete cascade
);
-- owns: "invoices_pkey", "invoices_tenant_id_key", "lines_pkey"
`

const databases = openForEach()
let folder: Folder
beforeEach(async () => {
  folder = await makeFolder({ '0001_invoices.sql': INVOICES })
  await migrateUp(databases.database, folder.path)
})

const plan = (onDelete: string) =>
  planMigration(
    specOf({
      invoice: {
        table: 'invoices',
        fields: { id: { type: 'bigint', primary_key: true }, tenant: { type: 'integer' } },
        indexes: [{ fields: ['tenant', 'id'], unique: true }],
      },
      line: {
        table: 'lines',
        fields: {
          id: { type: 'bigint', primary_key: true },
          tenant: { type: 'integer' },
          invoice: { type: 'bigint' },
        },
        relations: {
          of: { model: 'invoice', fields: ['tenant', 'invoice'], references: ['tenant', 'id'], on_delete: onDelete },
        },
      },
    }),
    folder.path,
    databases.scratch,
  )

const insert = (values: string) => databases.database.query({ text: `insert into ${values}`, values: [] })

test('a plan that changes the `on_delete` of a foreign key of others is rejected with the way out', async () => {
  expect((await plan('restrict')).rejections).toEqual([
    'the relation by tenant, invoice of lines cannot have the `on_delete` of the configuration, because the foreign key line_of_invoice was created by hand, ' +
      'as FOREIGN KEY (tenant, invoice) REFERENCES invoices(tenant, id) ON DELETE CASCADE: ' +
      'drop it in a migration by hand, and plan again: alter table "lines" drop constraint "line_of_invoice"',
  ])

  await folder.write('0002_drop.sql', '-- up\nalter table "lines" drop constraint "line_of_invoice";\n')
  const planned = await plan('restrict')
  expect(planned.rejections).toEqual([])
  await writeMigration(planned, folder.path)
  await migrateUp(databases.database, folder.path)
  expect(await plan('restrict')).toMatchObject({ steps: [], rejections: [] })
  await insert('invoices (tenant) values (1)')
  await insert('lines (tenant, invoice) values (1, 1)')
  await expect(databases.database.query({ text: 'delete from invoices', values: [] })).rejects.toThrow()
})

test('the `on_delete` of a foreign key of others is kept', async () => {
  const { steps, rejections } = await plan('cascade')
  expect(rejections).toEqual([])
  expect(steps.filter(({ detail }) => detail?.includes('foreign key'))).toEqual([])
})
