import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { alignColumns } from '../../cli/output.js'
import { wrapText } from '../../cli/wrap.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  inherited,
  makeProject,
  type Project,
  runInHost,
  spawnServe,
} from '../support/cli.js'
import { TERMINALS } from '../support/terminal.js'

const [terminal] = TERMINALS

let project: Project
beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': `${BOOKS}plugins: [./plugin.mjs]\n`,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    'plugin.mjs':
      "export default (app) => app.route('GET', '/a/rather/long/path/', 'another-long-name', () => ({ status: 204 }))\n",
  })
})
afterAll(() => project.remove())

/** The lines that a command prints at a terminal of a width. */
async function linesAt(columns: number, ...args: readonly string[]): Promise<readonly string[]> {
  const env = { ...inherited(), NO_COLOR: '1', COLUMNS: String(columns) }
  const { output } = await commandHost.run({ args, cwd: project.folder, env, terminal: true })
  return linesOf(output)
}

/** The same in a process of its own. */
async function linesInProcess(columns: number, ...args: readonly string[]): Promise<readonly string[]> {
  const command = terminal?.start(args, { cwd: project.folder, env: { COLUMNS: String(columns) } })
  const { shown = '' } = (await command?.ended) ?? {}
  return linesOf(shown)
}

const linesOf = (text: string): readonly string[] => text.trimEnd().split(/\r?\n/)

const COMMANDS = ['--help', 'migrate --help', 'serve --help', 'routes', 'explain SC301', 'explain resources']

const wordsOf = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

describe.each([40, 60, 80, 200])('at a terminal of %i columns', (columns) => {
  test.each(COMMANDS)('`%s` is wrapped between words', async (command) => {
    const args = command.split(' ')
    const wrapped = await linesAt(columns, ...args)
    // One word may be longer than a line.
    for (const line of wrapped) if (/\S +\S/.test(line)) expect(line.length).toBeLessThanOrEqual(columns)
    const { stdout } = await runInHost(args, { cwd: project.folder })
    expect(wordsOf(wrapped.join('\n'))).toContain(wordsOf(stdout))
  })
})

test('a process prints the same at its terminal', async () => {
  const lines = await linesInProcess(60, 'serve', '--help')
  expect(lines.length).toBeGreaterThan(20)
  expect(lines).toEqual(await linesAt(60, 'serve', '--help'))
})

test('the banner of `serve` is wrapped between words (D14)', async () => {
  // One word, because the options of Node are separated by spaces.
  const pretence = 'data:text/javascript,process.stdout.isTTY=process.stderr.isTTY=true'
  const env = { NO_COLOR: '1', COLUMNS: '40', NODE_OPTIONS: `--import ${pretence}` }
  const { child, output, stop } = spawnServe(['--migrate'], { cwd: project.folder, env })
  while (child.exitCode === null && !output.stderr.includes('curl -s')) await delay(20)
  await stop()
  const { stderr } = output
  const banner = linesOf(stderr.slice(stderr.indexOf('  snippetctl'), stderr.indexOf('curl -s')))
  for (const line of banner) if (/\S +\S/.test(line.trim())) expect(line.length).toBeLessThanOrEqual(40)
  expect(wordsOf(banner.join('\n'))).toContain('Auth none: every route is public')
})

test('output for programs is never wrapped', async () => {
  const lines = await linesAt(40, 'routes', '--json')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ schemaVersion: 1 })
})

test('a longer or shorter terminal counts as one of 200 or 40 columns', async () => {
  expect(Math.max(...(await linesAt(10, 'routes')).map(({ length }) => length))).toBeGreaterThan(20)
  expect(await linesAt(1_000, 'routes')).toEqual(await linesAt(200, 'routes'))
})

test.each([
  ['one two three', 8, 'one two\n  three'],
  ['  a line with an indent', 14, '  a line with\n    an indent'],
  [
    'name   text in a column that is long enough to be wrapped',
    32,
    'name   text in a column that is\n       long enough to be wrapped',
  ],
  ['name      GET       /a/path/          resource book', 32, 'name      GET       /a/path/\n  resource book'],
  [
    'long-name      GET     /a/rather/long/path/      resource',
    34,
    'long-name      GET\n  /a/rather/long/path/  resource',
  ],
  ['a-word-that-is-longer-than-a-line and more', 20, 'a-word-that-is-longer-than-a-line\n  and more'],
  ['\u001b[1mbold words\u001b[22m count as they look', 20, '\u001b[1mbold words\u001b[22m count as\n  they look'],
  ['日本語 and 한국어 take two columns each', 20, '日本語 and 한국어\n  take two columns\n  each'],
  ['✅ e\u0301t\u00e9 👩‍👧 as they look', 15, '✅ e\u0301t\u00e9 👩‍👧 as\n  they look'],
  ['名前   a text in a column of its own, wrapped', 32, '名前   a text in a column of its\n       own, wrapped'],
  ['12 |   an excerpt of a file stays as it is', 20, '12 |   an excerpt of a file stays as it is'],
  ['first line\nsecond line', 8, 'first\n  line\nsecond\n  line'],
])('wraps %j to %i columns', (text, width, wrapped) => {
  expect(wrapText(text, width)).toBe(wrapped)
})

test('columns are aligned as they look', () => {
  expect(
    alignColumns([
      ['名前', '1'],
      ['ab', '2'],
      ['✅', '3'],
    ]),
  ).toEqual(['名前  1', 'ab    2', '✅    3'])
})
