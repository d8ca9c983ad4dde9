import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, type Outcome, runInHost } from '../support/cli.js'
import { testDatabaseKind } from '../support/database.js'
import { projectPerTest } from '../support/project-per-test.js'

// Planning starts a database in memory, which takes seconds, and many on a busy machine.

const CREATED = '0001_create_books'

const project = projectPerTest({ 'resources.yaml': BOOKS })

/** On a server when the tests have one, else on the embedded database of the project. */
function migrate(...args: readonly string[]): Promise<Outcome> {
  return project.run('migrate', ...args)
}

const state = async () => {
  const { code, stdout } = await migrate('status', '--json')
  return { code, ...(JSON.parse(stdout) as object) }
}

describe('migrate', () => {
  test('plans, writes, applies, reports and reverts a migration', async () => {
    const planned = await migrate('plan', '--write', 'create_books', '--exit-code', '--json')
    expect(planned).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`wrote ${join('migrations', `${CREATED}.sql`)}\n`),
    })
    expect(JSON.parse(planned.stdout)).toMatchObject({
      schemaVersion: 1,
      steps: [{ change: 'add', subject: 'books', safety: 'safe', sql: [expect.stringContaining('create table')] }],
      rejections: [],
      notes: [],
    })
    expect(await readFile(join(project.folder, BOOKS_MIGRATION_FILE), 'utf8')).toMatch(
      /^-- up\n[^]*create table[^]*-- down\n/,
    )
    expect(await state()).toMatchObject({
      code: 1,
      ok: false,
      migrations: [{ name: CREATED, state: 'pending', appliedAt: null }],
    })

    const up = await migrate('up')
    expect(up).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/^applied {2}0001_create_books/) })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
    expect(await state()).toMatchObject({
      code: 0,
      ok: true,
      migrations: [{ name: CREATED, state: 'applied' }],
      differences: [],
    })

    const rejected = await migrate('down')
    expect(rejected).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('= help: allow exactly this: --allow-destructive=books\n'),
    })
    expect(await state()).toMatchObject({ code: 0 })
    expect(await migrate('down', '--allow-destructive=books')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^reverted {2}0001_create_books/),
    })
    expect(await state()).toMatchObject({ code: 1, migrations: [{ state: 'pending' }] })
    expect(await migrate('down')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('nothing to revert: no migration is applied'),
    })
    const again = await migrate('plan', '--write', 'again')
    expect(again).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nothing to migrate'),
      stderr: expect.stringContaining('nothing was written'),
    })
  })

  test('does not adopt what the next plan would revert, and prints what to write first', async () => {
    // Nothing changes an embedded database by hand while its commands run.
    if (testDatabaseKind() === 'embedded') return
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await migrate('up')
    await project.sql(`alter table books alter title set default 'none'`)
    expect(await migrate('adopt', 'books.title')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: the configuration does not describe books\.title .*\n {2}= help: In models\.book\.fields\.title, write `default: none`; then adopt it again\n/,
      ),
    })
    await project.write('resources.yaml', BOOKS.replace('max: 100 }', 'max: 100, default: "none" }'))
    expect(await migrate('adopt', 'books.title')).toMatchObject({ code: 0 })
    expect(await migrate('plan', '--exit-code')).toMatchObject({ code: 0 })
  })

  test.each([
    ['nothing fills', 'tmp integer not null'],
    ['has a default that no field has', `tmp text default upper('a')`],
    ['would have the name of another field', '"Title" text'],
  ])('adopts a column without a field if it %s', async (_what, column) => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await migrate('up')
    await project.onDatabase((own) => own.query({ text: `alter table books add ${column}`, values: [] }))
    const name = column.split(' ')[0]?.replaceAll('"', '')
    expect(await migrate('adopt', `books.${name}`)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /\n {2}! no field for it could be written into resources\.yaml: the next plan drops the column unless you add one\n$/,
      ),
    })
    expect((await migrate('plan')).stdout).toContain(`  - drop  books.${name}  `)
  })

  test('writes the missing field of a column that is adopted already', async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await migrate('up')
    await project.onDatabase((own) => own.query({ text: 'alter table books add tmp integer', values: [] }))
    await migrate('adopt', 'books.tmp')
    await project.write('resources.yaml', BOOKS)
    expect(await migrate('adopt', 'books.tmp')).toMatchObject({
      code: 0,
      stderr:
        'migrations/0002_adopt_books_tmp.sql, which an earlier `migrate adopt` wrote, is recorded as applied: books.tmp exists already\n' +
        'wrote a field for books.tmp into resources.yaml, private for now\n',
    })
    expect(await migrate('plan', '--exit-code')).toMatchObject({ code: 0 })
  })

  test('names a migration whose file was changed, and does not continue from it', async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await migrate('up')
    await project.write(BOOKS_MIGRATION_FILE, `${BOOKS_MIGRATION}-- edited\n`)
    const { code, stdout } = await migrate('status')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^STATUS +MIGRATION +APPLIED \(UTC\) +FILE\nchanged +0001_create_books +\S+ +changed on disk/,
    )
    expect(await migrate('up')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: .*0001_create_books.*\n {2}= help: /),
    })
  })

  test('reports changes of the configuration without a migration', async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await migrate('up')
    await project.write(
      'resources.yaml',
      BOOKS.replace('title: {', 'pages: { type: integer, nullable: true }\n      title: {'),
    )
    expect(await state()).toMatchObject({ code: 1, ok: false, differences: [expect.stringContaining('books.pages')] })
  })

  test.each([
    ['--steps', '0'],
    ['--steps', 'two'],
  ])('rejects %s %s', async (...args) => {
    expect(await migrate('down', ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must be an integer from 1'),
    })
  })
})

test('migrations also run where the server rejects the setting by which it looks for its client, as on Windows', async () => {
  const rejecting = `create function public.set_config(text, text, boolean) returns text language plpgsql as $$ begin
      if $1 = 'client_connection_check_interval' then raise sqlstate '22023'; end if;
      return pg_catalog.set_config($1, $2, $3);
    end $$`
  const used = `do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`
  await project.onDatabase(async (open) => {
    for (const text of [rejecting, used]) await open.query({ text, values: [] })
  })
  await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
  await project.write('migrations/0002_index.sql', '-- up\ncreate index concurrently titles on books (title);\n')
  expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/applied {2}0002_index/) })
})

describe('migrate plan', () => {
  test('plans and applies while a plugin still uses the old names', async () => {
    await project.write('resources.yaml', BOOKS.replace('version: 1\n', 'version: 1\nplugins: [./plugin.ts]\n'))
    await project.write('plugin.ts', "throw new Error('a field that it reads is gone')\n")
    expect(await migrate('plan', '--write', 'create_books')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining(CREATED) })
    expect(await state()).toMatchObject({ code: 0 })
  })

  test('shows the steps without opening a database', async () => {
    const outcome = await runInHost(['migrate', 'plan'], {
      cwd: project.folder,
      env: { DATABASE_URL: 'mysql://nowhere' },
    })
    expect(outcome).toEqual({ code: 0, stdout: '  + add  books  table (id, title)\n\n1 safe, 0 risky\n', stderr: '' })
  })

  test('shows each step on one line', async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await project.write(
      'migrations/0002_size.sql',
      `-- up\nalter table books add size integer constraint sizes check (case when size > 9 then size < 99 else size > 0 end);\n`,
    )
    const { stdout } = await migrate('plan')
    expect(stdout).toContain(
      '  - drop  books.sizes  CHECK ( CASE WHEN (size > 9) THEN (size < 99) ELSE (size > 0) END)\n',
    )
  })

  test('prints only SQL with --sql, and rejects an invalid name', async () => {
    const { code, stdout, stderr } = await migrate('plan', '--sql', '--write', '../books')
    expect(stdout).toMatch(/^create table "books" \([^]*\);\n$/)
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: "\.\.\/books" is not a valid name/),
    })
  })

  test('writes nothing that would destroy values', async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await project.write(
      'resources.yaml',
      BOOKS.replace('title: { type: string', 'name: { type: string').replace('[title]', '[name]'),
    )
    const { code, stdout, stderr } = await migrate('plan', '--write', 'rename')
    expect(code).toBe(1)
    expect(stdout).toContain('books.title')
    expect(stderr).toMatch(/^error: nothing was written: \d changes? cannot be made safely/)
  })
})
