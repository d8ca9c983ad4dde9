import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, makeProject, type Outcome, type Project, runCli, runInHost, startServe } from '../../support/cli.js'
import { compileProject } from '../../support/compiler.js'
import { envOf, openOnlyOnServer } from '../../support/database.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const run = (...args: readonly string[]): Promise<Outcome> => runInHost(args, { cwd: folder })

/** What `npm install` leaves in a project, as far as the command needs it. */
async function install(project: string): Promise<void> {
  await mkdir(join(project, 'node_modules'))
  await symlink(resolve('.'), join(project, 'node_modules', 'snippetctl'))
}

const FILES = [
  '.dockerignore',
  '.env.example',
  '.github/workflows/check.yml',
  '.gitignore',
  '.npmrc',
  '.vscode/extensions.json',
  'Dockerfile',
  'README.md',
  'compose.yaml',
  'deploy/nginx.conf',
  'migrations/0001_create_books.sql',
  'package.json',
  'plugins/books.ts',
  'resources.yaml',
  'tsconfig.json',
]

describe('new', () => {
  test('writes a working project that check and plan accept (promise 01)', async () => {
    const made = await runCli(['new', 'my-api'], { cwd: folder })
    expect(made).toMatchObject({ code: 0, stdout: '' })
    for (const file of FILES) expect(made.stderr).toContain(`created  my-api/${file}`)
    expect(made.stderr).toMatch(/next {5}cd my-api\n {9}npm install\n {9}npx snippetctl serve\n$/)

    const project = join(folder, 'my-api')
    await install(project)
    const within = (...args: readonly string[]) => runCli(args, { cwd: project })
    expect((await within('check')).stdout).toBe('resources.yaml: ok, 1 resource, 7 routes\n')
    expect(await within('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
    expect(await within('types')).toMatchObject({ code: 0, stderr: 'wrote .snippetctl/types.d.ts\n' })
    expect(await compileProject(project)).toEqual([])
    const database = await openOnlyOnServer()
    const serving = await startServe(['--migrate'], { cwd: project, env: envOf(database) })
    const sent = await fetch(`${serving.url}/api/books/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"title":"Emma","pages":474}',
    })
    expect(sent.status).toBe(201)
    const summary = await fetch(`${serving.url}${sent.headers.get('location')}summary/`)
    expect(await summary.json()).toEqual({ summary: 'Emma: 474 pages' })
    expect(await serving.stop()).toMatchObject({ code: 0 })
    await database?.close()
  })

  test('writes no example with --empty, and a plugin in JavaScript with --js', async () => {
    await run('new', 'empty', '--empty')
    expect((await readdir(join(folder, 'empty'))).sort()).toEqual(
      [
        ...['.dockerignore', '.env.example', '.github', '.gitignore', '.npmrc', '.vscode', 'Dockerfile', 'README.md'],
        ...['compose.yaml', 'deploy', 'package.json', 'resources.yaml', 'tsconfig.json'],
      ].sort(),
    )
    expect((await runInHost(['check'], { cwd: join(folder, 'empty') })).stdout).toBe(
      'resources.yaml: ok, 0 resources, 0 routes\n',
    )
    await run('new', 'plain', '--js')
    await install(join(folder, 'plain'))
    expect(readFileSync(join(folder, 'plain', 'plugins', 'books.js'), 'utf8')).not.toContain('type Plugin')
    expect(await runInHost(['check'], { cwd: join(folder, 'plain') })).toMatchObject({ code: 0 })
  })

  test('names variables that the program reads, with valid values', async () => {
    await run('new', 'my-api')
    const example = readFileSync(join(folder, 'my-api', '.env.example'), 'utf8')
    const set = [...example.matchAll(/^# ([A-Z_]+)=(.+)$/gm)].map(([, name = '', value = '']) => [name, value])
    expect(set.map(([name]) => name)).toContain('DATABASE_URL')
    const known = readFileSync('docs/environment.md', 'utf8')
    expect(set.filter(([name]) => !known.includes(`| \`${name}\` |`))).toEqual([])
    expect(example).toContain('snippetctl reads .env')
    await install(join(folder, 'my-api'))
    const uncommented = example.replaceAll(/^# (?=[A-Z_]+=)/gm, '')
    await writeFile(join(folder, 'my-api', '.env'), `${uncommented}SNIPPETCTL_CONFIG=missing.yaml\n`)
    const env = { SNIPPETCTL_ENV_FILE: '.env' }
    const { code, stderr } = await runCli(['check'], { cwd: join(folder, 'my-api'), env })
    expect(code).toBe(2)
    expect(stderr).toContain('missing.yaml')
  })

  test('rejects a folder that is not empty, and does not change it', async () => {
    await mkdir(join(folder, 'full'))
    await writeFile(join(folder, 'full', 'notes.txt'), 'mine')
    const { code, stdout, stderr } = await run('new', 'full')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('error: `full` is not empty: notes.txt\n')
    expect(await readdir(join(folder, 'full'))).toEqual(['notes.txt'])
  })

  test('rejects an invalid npm name', async () => {
    const { code, stderr } = await run('new', 'My API')
    expect(code).toBe(2)
    expect(stderr).toContain('for example: snippetctl new my-api')
    expect(existsSync(join(folder, 'My API'))).toBe(false)
  })
})

const COMMENTED = `# Books of the library
version: 1
models:            # what is stored
  book:
    fields:
      id:    { type: bigint, primary_key: true }
      title: { type: string, max: 100 }   # on the cover
# what is served
resources:
  book: { model: book, path: /books/ }    # the only one

# the end
`

describe('add resource', () => {
  let project: Project
  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': COMMENTED })
  })
  afterEach(() => project.remove())

  const add = (...args: readonly string[]) => runInHost(['add', 'resource', ...args], { cwd: project.folder })
  const configuration = () => readFileSync(join(project.folder, 'resources.yaml'), 'utf8')

  test('only adds lines, and the file stays valid (promise 23)', async () => {
    const fields = [
      'reader:string!',
      'book:belongs_to=book!',
      'state:choice=out,back',
      'fee:decimal=6,2',
      'until:date',
      'tags:array=string',
      'sum:decimal',
    ]
    const { code, stdout, stderr } = await add('loan', ...fields)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `   9 |   loan:
  10 |     table: loans
  11 |     fields:
  12 |       id: { type: bigint, primary_key: true }
  13 |       reader: { type: string }
  14 |       book: { type: belongs_to, model: book }
  15 |       state: { type: choice, choices: [out, back], nullable: true }
  16 |       fee: { type: decimal, precision: 6, scale: 2, nullable: true }
  17 |       until: { type: date, nullable: true }
  18 |       tags: { type: array, items: { type: string }, nullable: true }
  19 |       sum: { type: decimal, nullable: true }
  24 |   loan:
  25 |     model: loan
  26 |     path: /loans/
`,
    })
    expect(stderr).toContain('changed  resources.yaml   + 14 lines, comments and order kept')
    expect(stderr).toContain('next     snippetctl migrate plan --write create_loans')
    const lines = configuration().split('\n')
    const kept = COMMENTED.split('\n')
    let at = 0
    for (const line of lines) if (line === kept[at]) at += 1
    expect(at).toBe(kept.length)
    expect(await runInHost(['check'], { cwd: project.folder })).toMatchObject({ code: 0 })
  })

  test('writes nothing with --dry-run, and prints the same as JSON', async () => {
    const { stdout } = await add('city', 'name:string!', '--path', '/places/', '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      schemaVersion: 1,
      file: 'resources.yaml',
      written: false,
      added: expect.arrayContaining([
        { line: 10, text: '    table: cities' },
        { line: 20, text: '    path: /places/' },
      ]),
    })
    expect(configuration()).toBe(COMMENTED)
  })

  test.each([
    [['book', 'title:string'], 'there is a model `book` already', 'another name'],
    [['Comment'], '`Comment` is not a valid name of a resource', 'for example: comment'],
    [['loan', 'reader:strng'], 'no field type is called `strng`', '`string`'],
    [['loan', 'fee:decimal=6'], 'lacks the options of its type', 'fee:decimal=PRECISION,SCALE'],
    [['loan', 'tags:array'], 'lacks the options of its type', 'tags:array=ITEMS'],
    [['loan', 'state:choice=a, }'], 'lacks the options of its type', 'state:choice=CHOICES'],
    [['loan', 'book:belongs_to=bok'], '`bok`', 'nothing was written'],
  ])('rejects %j and does not change the file', async (args, message, help) => {
    const { code, stdout, stderr } = await add(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(help)
    expect(configuration()).toBe(COMMENTED)
  })

  test('shows the lines if they cannot be inserted', async () => {
    await project.write('resources.yaml', `${BOOKS.slice(0, BOOKS.indexOf('resources:'))}resources: {}\n`)
    const { code, stderr } = await add('loan', 'reader:string')
    expect(code).toBe(2)
    expect(stderr).toContain('write it by hand, under `models`:\n      loan:\n        table: loans')
  })
})
