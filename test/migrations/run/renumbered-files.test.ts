import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE } from '../../support/cli.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
const migrate = (...args: readonly string[]) => project.run('migrate', ...args)

const add = (name: string) => project.write(`migrations/${name}.sql`, column(name))

const column = (name: string) =>
  `-- up\nalter table books add ${name.slice(5)} integer;\n-- down\nalter table books drop ${name.slice(5)};\n`

const files = async () => (await readdir(join(project.folder, 'migrations'))).sort()

describe('two branches that used the same number', () => {
  test('the error names the command, which gives the pending files the next numbers', async () => {
    await add('0002_theirs')
    await migrate('up')
    await add('0002_mine')
    await project.write(
      'migrations/0003_fill.sql',
      '-- up\nupdate books set mine = 1;\n-- down\nupdate books set mine = null;\n',
    )
    const rejected = await migrate('up')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain(
      '0002_mine.sql and 0002_theirs.sql have the same number: the later one needs the next number',
    )
    expect(rejected.stderr).toContain(
      '= help: Give the file that no database has applied the next number: snippetctl migrate renumber\n',
    )
    expect(await migrate('renumber')).toMatchObject({
      code: 0,
      stderr:
        'renamed 0002_mine.sql to 0003_mine.sql\nrenamed 0003_fill.sql to 0004_fill.sql\n  next   see what is pending: snippetctl migrate status\n',
    })
    expect(await files()).toEqual(['0001_create_books.sql', '0002_theirs.sql', '0003_mine.sql', '0004_fill.sql'])
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('applied  0004_fill') })
    expect(await migrate('renumber')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no number is used twice; nothing was renamed'),
    })
  })

  test('renames nothing without a name if the database has applied neither', async () => {
    await migrate('up')
    await add('0002_mine')
    await add('0002_theirs')
    expect(await migrate('renumber')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /0002_mine and 0002_theirs have the same number, and this database has applied neither\n {2}= help: .*: snippetctl migrate renumber 0002_theirs\n/,
      ),
    })
    expect(await migrate('renumber', 'migrations/0002_mine.sql')).toMatchObject({ code: 0 })
    expect(await files()).toEqual(['0001_create_books.sql', '0002_theirs.sql', '0003_mine.sql'])
    expect(await migrate('renumber', '0009_none')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /there is no migration 0009_none\n {2}= help: There are: 0001_create_books, 0002_theirs/,
      ),
    })
  })

  test('renames an applied file only together with its line in the journal', async () => {
    await add('0002_mine')
    await migrate('up')
    await add('0002_theirs')
    const rejected = await migrate('renumber', '0002_mine')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain('0002_mine is applied to this database, so its number cannot change')
    expect(rejected.stderr).toContain('snippetctl migrate renumber --journal 0002_mine\n')
    expect(await files()).toContain('0002_mine.sql')
    expect(await migrate('renumber', '--journal', '0002_mine')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0002_theirs/) })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('up to date (3 migrations)') })
  })

  test('renames nothing if the files fail in the new order', async () => {
    await migrate('up')
    await add('0002_mine')
    await add('0002_theirs')
    await project.write('migrations/0003_fill.sql', '-- up\nupdate books set mine = 1;\n-- down\nselect 1;\n')
    expect(await migrate('renumber', '0002_mine')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /in the new order, 0001_create_books, 0002_theirs, 0003_fill, 0002_mine, a migration fails: .*0003_fill\.sql:2: column "mine".*\n.*Name every file of the later branch.*\n.*no database has applied the file that fails: correct this file, or delete it and plan again\n/,
      ),
    })
    expect(await files()).toEqual(['0001_create_books.sql', '0002_mine.sql', '0002_theirs.sql', '0003_fill.sql'])
    expect(await migrate('renumber', '0002_mine', '0003_fill')).toMatchObject({ code: 0 })
    expect(await files()).toEqual(['0001_create_books.sql', '0002_theirs.sql', '0003_mine.sql', '0004_fill.sql'])
  })

  test('does not take the number of a migration whose file is missing', async () => {
    await add('0002_theirs')
    await add('0003_later')
    await migrate('up')
    await add('0002_mine')
    await rm(join(project.folder, 'migrations/0003_later.sql'))
    expect(await migrate('renumber')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '0003_later is applied to this database, and its file is missing here, so its number is taken',
      ),
    })
  })
})
