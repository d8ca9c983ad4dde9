import { execFileSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  type Hosted,
  serveInHost,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, testDatabaseKind } from '../../support/database.js'
import { onProjectDatabase } from '../../support/existing.js'
import { untilPrinted } from '../../support/until-printed.js'

let project: Project
let server: Hosted | undefined

beforeEach(async () => {
  project = await makeProject({
    'resources.yaml': BOOKS,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    '.gitignore': '.snippetctl/\n',
  })
})

afterEach(async () => {
  await stop()
  await project.remove()
})

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: project.folder, stdio: 'pipe' })

/** A repository with the files of the project. */
function commit(): void {
  git('init', '-q')
  git('add', '.')
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '-qm', 'first')
}

async function start(): Promise<Hosted> {
  return (server = await serveInHost([], { cwd: project.folder }))
}

async function stop(): Promise<void> {
  await server?.stop('SIGTERM')
  server = undefined
}

/** The fields of books, beside its key and title. */
const withFields = (...fields: readonly string[]) =>
  BOOKS.replace('max: 100 }', ['max: 100 }', ...fields].join('\n      '))
const PAGES = 'pages: { type: integer, nullable: true }'
const NOTE = 'note: { type: text, nullable: true, max: 50 }'
const SIZE = 'size: { type: integer, default: 3 }'

/** Saves a configuration, and waits until it is served. */
async function save(at: Hosted, text: string): Promise<void> {
  const reloads = () => at.output.stdout.split('"reloaded"').length
  const before = reloads()
  await project.write('resources.yaml', text)
  await untilPrinted(at.child.stdout, () => reloads() !== before)
}

const migrate = (...args: readonly string[]) => runInHost(['migrate', ...args], { cwd: project.folder, keep: true })
const files = async () => (await readdir(join(project.folder, 'migrations'))).sort()
const textOf = (name: string) => readFile(join(project.folder, 'migrations', name), 'utf8')
const rows = (text: string) =>
  onProjectDatabase(project, undefined, async (open) => (await open.query({ text, values: [] })).rows)

async function insert(at: Hosted, record: object): Promise<void> {
  const body = JSON.stringify(record)
  const { status } = await fetch(`${at.url}/api/books/`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  expect(status).toBe(201)
}

/** Nothing differs, for this database and a new one. */
async function expectConsistent(): Promise<void> {
  expect(await migrate('status')).toMatchObject({ code: 0 })
  expect(await migrate('plan')).toMatchObject({ stdout: expect.stringContaining('nothing to migrate') })
}

const ADD_PAGES = '0002_add_pages_to_books.sql'
const onEmbedded = testDatabaseKind() === 'postgres' ? describe.skip : describe

onEmbedded('while developing, saved additions go into one migration', () => {
  test('until git tracks its file', async () => {
    commit()
    const first = await start()
    await save(first, withFields(PAGES))
    await insert(first, { title: 'Emma', pages: 474 })
    await save(first, withFields(PAGES, NOTE))
    await insert(first, { title: 'Ulysses', pages: 730, note: 'long' })
    expect(await files()).toEqual(['0001_create_books.sql', ADD_PAGES])
    expect(first.output.stdout).toContain(`rewrote migrations/${ADD_PAGES}`)
    const text = await textOf(ADD_PAGES)
    for (const part of [
      'add column "pages" integer',
      'add column "note" text',
      '-- owns: "books_note_length"',
      'drop column "note"',
    ])
      expect(text).toContain(part)
    await stop()
    await expectConsistent()
    const again = await start()
    await save(again, withFields(PAGES, NOTE, SIZE))
    expect(await files()).toHaveLength(2)
    git('add', 'migrations')
    await save(again, withFields(PAGES, NOTE, SIZE, 'shelf: { type: integer, nullable: true }'))
    expect(await files()).toEqual(['0001_create_books.sql', ADD_PAGES, '0003_add_shelf_to_books.sql'])
    await stop()
    await expectConsistent()
    expect(await rows('select title, pages::text, note, size::text from books order by id')).toEqual([
      ['Emma', '474', null, '3'],
      ['Ulysses', '730', 'long', '3'],
    ])
    expect(
      await migrate('down', '--steps', '2', '--allow-destructive=books.pages,books.note,books.size,books.shelf'),
    ).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    await expectConsistent()
  })

  test('except statements that may use a new choice of an enum, which must be committed first', async () => {
    const made =
      "create type mood as enum ('sad', 'ok');\nalter table books add column mood mood not null default 'ok';"
    await project.write(
      'migrations/0002_mood.sql',
      `-- up\n${made}\n-- down\nalter table books drop column mood;\ndrop type mood;\n`,
    )
    const mood = (choices: string, value: string) =>
      withFields(`mood: { type: choice, choices: [${choices}], default: ${value} }`)
    await project.write('resources.yaml', mood('sad, ok', 'ok'))
    commit()
    const at = await start()
    await save(at, mood('sad, ok, good', 'ok'))
    await save(at, mood('sad, ok, good', 'good'))
    await insert(at, { title: 'Emma' })
    await stop()
    expect(await files()).toHaveLength(4)
    await expectConsistent()
    expect(await rows('select mood::text from books')).toEqual([['good']])
  })

  test('and keep a field that was removed meanwhile, with its values', async () => {
    commit()
    const at = await start()
    await save(at, withFields(PAGES))
    await insert(at, { title: 'Emma', pages: 474 })
    await save(at, BOOKS)
    await save(at, withFields(NOTE))
    await stop()
    expect(await files()).toEqual(['0001_create_books.sql', ADD_PAGES])
    expect(await textOf(ADD_PAGES)).toContain(
      'add column "pages" integer;\n\nalter table "books" add column "note" text',
    )
    expect(await rows('select pages::text from books')).toEqual([['474']])
    expect(await migrate('status')).toMatchObject({ code: 0 })
  })

  test.each<[why: string, close: () => Promise<unknown>, third: number]>([
    ['without git', async () => {}, 3],
    ['if git ignores the file', async () => project.write('.gitignore', '.snippetctl/\nmigrations/\n').then(commit), 3],
    [
      'after another migration was planned',
      async () => {
        commit()
        await project.write('migrations/0003_by_hand.sql', '-- up\nalter table books add hand integer;\n')
      },
      4,
    ],
    [
      'after another database has applied the file',
      async () => {
        commit()
        // As `migrate up` does after it has applied the file.
        const { closeApplied } = await import('../../../cli/serve/open-migration.js')
        await closeApplied(join(project.folder, 'resources.yaml'), [{ name: ADD_PAGES.replace('.sql', '') }])
      },
      3,
    ],
  ])('not %s', async (_why, close, length) => {
    const at = await start()
    await save(at, withFields(PAGES))
    const text = await textOf(ADD_PAGES)
    await stop()
    await close()
    const again = await start()
    await save(again, withFields(PAGES, NOTE))
    expect(await files()).toHaveLength(length)
    expect(await textOf(ADD_PAGES)).toBe(text)
  })

  test('of which the file is written by the next start if the process ended before it', async () => {
    commit()
    const at = await start()
    await save(at, withFields(PAGES))
    const before = await textOf(ADD_PAGES)
    await save(at, withFields(PAGES, NOTE))
    const after = await textOf(ADD_PAGES)
    await stop()
    const path = join(project.folder, 'migrations', ADD_PAGES)
    const mark = join(project.folder, '.snippetctl', 'open-migration.json')
    const { name, checksum } = JSON.parse(await readFile(mark, 'utf8')) as {
      readonly name: string
      readonly checksum: string
    }
    const next = { checksum, file: path, text: after }
    await writeFile(mark, JSON.stringify({ name, checksum: 'of the old text', next }))
    await writeFile(path, before)
    expect(await migrate('status')).toMatchObject({ code: 1 })
    await start()
    expect(await textOf(ADD_PAGES)).toBe(after)
    await stop()
    await expectConsistent()
    expect(JSON.parse(await readFile(mark, 'utf8'))).toEqual({ name, checksum })
  })
})

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
onServer('`migrate up` on another database closes the open migration', async () => {
  const database = await openOnlyOnServer()
  try {
    const mark = join(project.folder, '.snippetctl', 'open-migration.json')
    await project.write('.snippetctl/open-migration.json', '{"name":"0001_create_books","checksum":"any"}')
    const up = () => runInHost(['migrate', 'up'], { cwd: project.folder, env: envOf(database) })
    expect(await up()).toMatchObject({ code: 0 })
    await expect(readFile(mark)).rejects.toThrow('ENOENT')
  } finally {
    await database?.close()
  }
})
