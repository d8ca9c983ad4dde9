import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: make } = project

const GERMAN = `create collation german (provider = icu, locale = 'de-DE');`

const SQL = `${GERMAN}
  create schema other;
  create collation other.swedish (provider = icu, locale = 'sv-SE');
  create domain heading as text collate "C";
  create table cities (id serial primary key, name text collate german not null, mayor text);
  create table towns (code text collate other.swedish primary key);
  create table people (
    id serial primary key, name text not null, title heading, plain text collate "C", rank text collate "und-x-icu",
    loud text generated always as (upper(name || '!')) stored,
    sorted text generated always as (lower(name) collate german) stored,
    by_name text default 'x' check (by_name < 'z' collate german),
    city integer references cities, town text references towns
  );
  create index on people (name collate german);
  create index on people (name collate "C");
  create view city_names as select name from cities;`

describe('collations that only the database has', () => {
  test('introspect --manage leaves their tables to others, and later commands find no difference', async () => {
    await make(SQL)
    const { code, stderr } = await run('introspect', '--manage')
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('differs') })
    const file = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
    expect(
      file,
    ).toContain(`  # cities: migrations do not create it: the collation german of its column name does not exist in every database; no plan changes it
  cities:
    managed: false
    fields:
      id:    { type: integer, primary_key: true }
      name:  { type: text }
      mayor: { type: text, nullable: true }
`)
    expect(file).toContain('migrations do not create it: the collation "other"."swedish" of its column code does not')
    expect(file).toContain('people.town: no relation: migrations do not create towns')
    expect(file).toContain('plain:   { type: text, nullable: true }')
    expect(file).toContain('rank:    { type: text, collation: und-x-icu, nullable: true }')
    expect(stderr).toContain(
      'left  people.people_name_idx is not recorded: it uses objects that only this database has',
    )
    expect(stderr).toContain(
      'left  people.sorted is not recorded: it is computed by objects that only this database has',
    )
    const migration = await readFile(join(project.folder, 'migrations', '0001_introspected.sql'), 'utf8')
    expect(migration).not.toMatch(/german|swedish|table "(?:cities|towns)"/)
    expect(migration).toContain(`generated always as (upper((name || '!'::text))) stored`)
    expect(await run('check')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
    expect(await run('check', '--database')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'status')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('drift') })
  })

  test('a relation to such a table stays one if an index begins with its column', async () => {
    await make(`${GERMAN}
      create table cities (id serial primary key, name text collate german);
      create table people (id serial primary key, city_id integer references cities);
      create index on people (city_id);`)
    expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
    const file = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
    expect(file).toContain('city: { type: belongs_to, model: cities, nullable: true }')
    expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
  })

  const CITY = `version: 1
models:
  city: { table: cities, fields: { id: { type: bigint, primary_key: true }, name: { type: text, collation: german } } }
`

  test('a plan names the fields with a collation that no migration creates', async () => {
    await project.write('resources.yaml', CITY)
    expect(await run('migrate', 'plan')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: city\.name has the collation german, which an empty database does not have\n.*Create the collation in a migration/,
      ),
    })
  })

  test('a plan uses a collation that a migration creates', async () => {
    await project.write('resources.yaml', CITY)
    await project.write('migrations/0001_german.sql', `-- up\n-- names\n${GERMAN}\n-- down\ndrop collation german;\n`)
    expect(await run('migrate', 'plan', '--write')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
  })

  test('introspect names those that treat different texts as equal, and the check asks for them', async () => {
    await make(`
      create schema other;
      create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create collation other.any_accent (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      create table tags (id serial primary key, name varchar(9) collate any_case not null, alias text collate other.any_accent, plain text);`)
    expect(await run('introspect')).toMatchObject({ code: 0 })
    const file = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
    expect(file).toContain('name:  { type: string, max: 9, collation: any_case }')
    expect(file).toContain('alias: { type: text, collation: any_accent, nullable: true }')
    expect(file).toContain('plain: { type: text, nullable: true }')
    expect(await run('check', '--database')).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('collation'),
    })
    await project.write('resources.yaml', file.replace(', collation: any_case', ''))
    expect(await run('check', '--database')).toMatchObject({
      stdout: expect.stringContaining(
        'column tags.name treats different texts as equal, and its field should have `collation: any_case`',
      ),
    })
    expect(await run('introspect', '--update')).toMatchObject({ code: 0 })
    expect(await readFile(join(project.folder, 'resources.yaml'), 'utf8')).toBe(file)
  })
})

describe('generated columns', () => {
  test('status compares their expressions', async () => {
    await make(
      'create table people (id serial primary key, name text, loud text generated always as (upper(name)) stored)',
    )
    expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
    await make(
      'alter table people drop loud; alter table people add loud text generated always as (lower(name)) stored',
    )
    expect(await run('migrate', 'status')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        '(lower(name)) stored in the database and text generated always as (upper(name)) stored',
      ),
    })
  })

  test('a reverted drop of their table makes them again', async () => {
    await make(
      'create table people (id serial primary key, name text, loud text generated always as (upper(name)) stored)',
    )
    expect(await run('introspect', '--manage', '--no-resources')).toMatchObject({ code: 0 })
    await project.write('resources.yaml', 'version: 1\ndropped: [people]\n')
    expect(await run('migrate', 'plan', '--write')).toMatchObject({ code: 0 })
    const dropped = await readFile(join(project.folder, 'migrations', '0002_change_people.sql'), 'utf8')
    expect(dropped).toContain('"loud" text generated always as (upper(name)) stored')
  })
})
