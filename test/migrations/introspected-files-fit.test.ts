import { expect, test } from '@jest/globals'
import { projectPerTest } from '../support/project-per-test.js'

const project = projectPerTest()

/** Tables whose columns are easily described wrongly. */
const TABLES: Readonly<Record<string, string>> = {
  'times with fewer digits': `create table visits (id serial primary key, at timestamp(3) not null default current_timestamp, seen timestamp(0)[],
    began timestamp(6), day_at time(6))`,
  'names that YAML reads as other values': `
    create table "null" ("true" integer primary key, "null" text not null, "NULL" text, no integer unique, "on" boolean);
    create table "false" (y integer, n integer references "null", yes integer, primary key (y, n), foreign key (n) references "null")`,
  'a default that char(n) pads': `create table customers (code char(5) primary key default '  ', name char(35) not null default ' ', state char(1) default 'A')`,
  'types of any name': `
    create type "Größe-(cm), 'x'" as (width integer, height integer);
    create table parts (id serial primary key, size "Größe-(cm), 'x'", took interval day to second, spent interval(3), sizes "Größe-(cm), 'x'"[])`,
}

test.each(Object.keys(TABLES))(
  'the file that introspect writes for %s has no mistakes and no differences',
  async (name) => {
    await project.sql(TABLES[name] ?? '')
    expect(await project.run('introspect')).toMatchObject({ code: 0 })
    for (const command of [['check'], ['check', '--database'], ['migrate', 'plan', '--exit-code']])
      expect(await project.run(...command)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
    const updated = await project.run('introspect', '--update')
    expect(updated).toMatchObject({ code: 0, stderr: expect.stringMatching(/^nothing to change/) })
  },
)
