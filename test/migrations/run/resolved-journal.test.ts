import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE } from '../../support/cli.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
const { sql } = project
const migrate = (...args: readonly string[]) => project.run('migrate', ...args)

const PAGES = '-- up\n\nalter table books add pages integer;\n\n-- down\n\nalter table books drop pages;\n'
const FILL = '-- up\n\nupdate books set title = trim(title);\n\n-- down\n\nselect 1;\n'

const path = (name: string) => join(project.folder, 'migrations', name)

describe('tables without a journal', () => {
  test('are recorded as applied without introspection, and nothing runs again', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await sql('drop table snippetctl_migrations')
    const isServer = await project.onDatabase(async ({ url }) => url !== undefined)
    const server = isServer ? ', in PostgreSQL at [^ ]+, database [^ ]+' : ''
    const failed = await migrate('up')
    expect(failed).toMatchObject({ code: 2 })
    expect(failed.stderr).toContain(
      '= help: If the objects that the migration creates exist already, record it as applied: snippetctl migrate resolve\n',
    )
    expect(await migrate('resolve')).toMatchObject({
      code: 1,
      stdout:
        '0001_create_books is pending, and its objects exist in the database\n' +
        '0002_add_pages is pending, and its objects exist in the database\n' +
        '  = help: the database confirms this: snippetctl migrate resolve --applied 0001_create_books 0002_add_pages\n',
    })
    expect(await migrate('resolve', '--applied')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        new RegExp(
          `^recorded as applied: 0001_create_books\nrecorded as applied: 0002_add_pages\n${server && `the journal is corrected${server}\n`}` +
            '  next   compare the database with the files: snippetctl migrate status\n$',
        ),
      ),
    })
    expect(await migrate('resolve')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(`^the journal and the files agree: there is nothing to resolve${server}\n$`),
    })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
    expect(await migrate('down')).toMatchObject({ code: 3 })
  })

  test('are recorded as far as the database has them', async () => {
    await migrate('up')
    await sql('drop table snippetctl_migrations')
    await project.write('migrations/0002_add_pages.sql', PAGES)
    const rejected = await migrate('resolve', '--applied')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain('the database says otherwise: column books.pages is missing in the database')
    expect(rejected.stderr).toContain('restore it: alter table "books" add column "pages" integer')
    expect(await migrate('resolve', '--applied', '--yes')).toMatchObject({ code: 2 })
    expect(await migrate('resolve')).toMatchObject({
      stdout: expect.stringMatching(/: snippetctl migrate resolve --applied 0001_create_books\n/),
    })
    expect(await migrate('resolve', '--applied', '0002_add_pages')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0001_create_books comes before 0002_add_pages and is pending'),
    })
    expect(await migrate('resolve', '--applied', 'migrations/0001_create_books.sql')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0002_add_pages/) })
  })
})

describe('an applied file that was edited', () => {
  test('is accepted if the database has what it makes now', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await project.write('migrations/0002_add_pages.sql', PAGES.replace('-- up', '-- How long it is.\n-- up'))
    expect(await migrate('up')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Or see whether the journal can be corrected: snippetctl migrate resolve'),
    })
    expect(await migrate('status')).toMatchObject({
      code: 1,
      stderr: '  = help: put the files back, or correct the journal: snippetctl migrate resolve\n',
    })
    expect(await migrate('resolve')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('confirms this: snippetctl migrate resolve --edited 0002_add_pages\n'),
    })
    expect(await migrate('resolve', '--edited', '0002_add_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('is rejected with the difference, which status can repair after --yes', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await project.write('migrations/0002_add_pages.sql', PAGES.replace('integer', 'bigint'))
    const rejected = await migrate('resolve', '--edited', '0002_add_pages')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain(
      'the database says otherwise: column books.pages is integer in the database and bigint in the files',
    )
    expect(rejected.stderr).toContain('keep it, after --yes: snippetctl migrate adopt books.pages')
    expect(await migrate('resolve', '--edited', '0002_add_pages', '--yes')).toMatchObject({ code: 0 })
    expect(await migrate('status')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('migrate adopt books.pages'),
    })
    expect(await migrate('adopt', 'books.pages')).toMatchObject({ code: 0 })
    expect(await migrate('resolve')).toMatchObject({ code: 0 })
    expect((await migrate('status')).stdout).not.toContain('drift')
  })
})

describe('an applied file that is missing', () => {
  test('is followed under its new name', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await rename(path('0002_add_pages.sql'), path('0002_count_pages.sql'))
    const command = 'snippetctl migrate resolve --not-applied 0002_add_pages --applied 0002_count_pages'
    expect((await migrate('resolve')).stdout).toContain(`${command}\n`)
    expect(await migrate(...command.split(' ').slice(2))).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
  })

  test('is removed from the journal only if its columns are gone, or with --yes, after which they can be adopted', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await rm(path('0002_add_pages.sql'))
    await project.write('migrations/0002_fill.sql', FILL)
    const rejected = await migrate('resolve', '--not-applied', '0002_add_pages')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain('column books.pages exists only in the database')
    expect(await migrate('resolve', '--not-applied', '0002_add_pages', '--yes')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    expect(await migrate('adopt', 'books.pages')).toMatchObject({ code: 0 })
    expect(await migrate('status')).toMatchObject({ code: 0 })
  })

  test('leaves no other disagreement', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await rm(path('0002_add_pages.sql'))
    await project.write(BOOKS_MIGRATION_FILE, `-- Books.\n${BOOKS_MIGRATION}`)
    expect(await migrate('resolve', '--edited', '0001_create_books')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0002_add_pages is missing on disk as well'),
    })
  })
})

describe('a migration recorded as applied that was not', () => {
  test('becomes pending if the database has nothing of it', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    const rejected = await migrate('resolve', '--not-applied', '0002_add_pages', '--yes')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain('column books.pages exists only in the database')
    await sql('alter table books drop pages')
    expect(await migrate('resolve', '--not-applied', '0002_add_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0002_add_pages/) })
  })

  test('keeps its record while a table of it exists', async () => {
    await migrate('up')
    expect(await migrate('resolve', '--not-applied', '0001_create_books', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the database says otherwise: table books exists'),
    })
  })

  test('needs --yes if it changes no table', async () => {
    await migrate('up')
    await project.write('migrations/0002_fill.sql', FILL)
    expect(await migrate('resolve', '--applied')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing in the schema shows whether 0002_fill was applied'),
    })
    expect(await migrate('resolve', '--applied', '--yes')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
  })

  test('that another database has renumbered behind a pending file are recorded under their new name', async () => {
    await project.write('migrations/0002_add_pages.sql', PAGES)
    await migrate('up')
    await rename(path('0002_add_pages.sql'), path('0003_add_pages.sql'))
    await project.write('migrations/0002_fill.sql', FILL)
    const command = 'snippetctl migrate resolve --not-applied 0002_add_pages --applied 0003_add_pages'
    expect((await migrate('resolve')).stdout).toContain(`the database confirms this: ${command}\n`)
    expect(await project.run(...command.split(' ').slice(1))).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0002_fill /) })
    expect(await migrate('status')).toMatchObject({ code: 0 })
  })
})
