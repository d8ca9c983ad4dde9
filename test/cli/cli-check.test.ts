import { afterEach, describe, expect, test } from '@jest/globals'
import { toJson } from '../../src/config/diagnostic.js'
import { checkText } from '../support/config.js'
import { BOOKS, makeProject, type Project, runCli, runInHost } from '../support/cli.js'

const BROKEN = BOOKS.replace('type: string', 'type: strng').replace('filterable: [title]', 'filterable: [titel]')
const INDEXED = BOOKS.replace('max: 100 }\n', 'max: 100 }\n    indexes: [[title, id]]\n')
/** A mistake for each way in which a value can have the wrong shape. */
const MISSHAPEN = `version: 2
api: { prefix: api, title: [] }
apii: {}
settings: 1
plugins: [a, a, 1]
models:
  Author: { fields: {} }
  book:
    fields:
      id: { type: bigint, primary_key: yes, default: { function: later } }
      name: { type: str }
      code: { max: 5 }
      bio: { type: text, max_length: 10, min: -1, max: 1.5, pattern: "(" }
      price: { type: decimal, precision: 10 }
      born:
    indexes: [[], [name, name], { fields: 1 }]
resources:
  book: { model: book, path: books, filterable: { name: [like] }, operations: [lists], pagination: { style: x, page_size: 0 } }
`
const MANY = `${BOOKS}${Array.from({ length: 25 }, (_, at) => `    unknown_${at}: 1\n`).join('')}`

let project: Project | undefined

afterEach(async () => {
  await project?.remove()
  project = undefined
})

async function check(yaml: string, ...args: readonly string[]) {
  project = await makeProject({ 'resources.yaml': yaml })
  return runInHost(['check', ...args], { cwd: project.folder })
}

describe('check', () => {
  test('reports a valid configuration in one line', async () => {
    const outcome = await check(INDEXED)
    expect(outcome).toEqual({ code: 0, stdout: 'resources.yaml: ok, 1 resource, 6 routes\n', stderr: '' })
  })

  test('accepts the configuration of this repository', async () => {
    const outcome = await runCli(['check'])
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    expect(outcome.stdout).toMatch(/^resources\.yaml: ok, 1 resource, \d+ routes\n$/)
  })

  test('prints every error with its position, a caret and help, then their number (promise 03)', async () => {
    const { code, stdout, stderr } = await check(BROKEN)
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toContain('--> resources.yaml:9:22\n')
    expect(stdout).toContain('^^^^^')
    expect(stdout).toContain('`string`')
    expect(stdout).toContain('--> resources.yaml:14:18\n')
    expect(stdout).toContain('`title`')
    expect(stdout).toMatch(/\nresources\.yaml: 2 errors\n$/)
  })

  test('prints one JSON document with --json (promise 03)', async () => {
    const { code, stdout } = await check(BROKEN, '--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      schemaVersion: 1,
      ok: false,
      errors: 2,
      diagnostics: [
        { severity: 'error', file: 'resources.yaml', range: { start: { line: 9, column: 22 } } },
        { severity: 'error', file: 'resources.yaml', range: { start: { line: 14, column: 18 } } },
      ],
    })
  })

  test('reports shape errors the same in the compiled program as in the sources', async () => {
    const expected = checkText(MISSHAPEN)
    if (!Array.isArray(expected)) throw new Error('the configuration is in order')
    expect(new Set(expected.map(({ code }) => code)).size).toBeGreaterThanOrEqual(7)
    const { stdout } = await check(MISSHAPEN, '--json')
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(toJson(expected))))
  })

  test('prints JSON for a valid configuration too', async () => {
    const { code, stdout } = await check(INDEXED, '--format', 'json')
    expect({ code, json: JSON.parse(stdout) }).toEqual({
      code: 0,
      json: { schemaVersion: 1, ok: true, errors: 0, warnings: 0, diagnostics: [] },
    })
  })

  test('prints one annotation per line with --format github', async () => {
    const { code, stdout } = await check(BROKEN, '--format', 'github')
    expect(code).toBe(1)
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^::error file=resources\.yaml,line=9,col=22,/)
  })

  test('warns about a missing index with the line to add, and exits with 0', async () => {
    const { code, stdout, stderr } = await check(BOOKS)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^warning\[SC401\]: no index serves the filter `title`/)
    expect(stdout).toContain('--> resources.yaml:14:18\n')
    expect(stdout).toContain('= help: add under `models.book`: `indexes: [[title, id]]`\n')
    expect(stdout).toMatch(/\n\nresources\.yaml: ok, 1 resource, 6 routes, 1 warning\n$/)
  })

  test.each([
    ['json', /^\{"schemaVersion":1,"ok":true,"errors":0,"warnings":1,"diagnostics":\[\{"code":"SC401".*\}\]\}\n$/],
    [
      'github',
      /^::warning file=resources\.yaml,line=14,col=18,.*,title=SC401::.*\nresources\.yaml: ok, .*, 1 warning\n$/,
    ],
  ])('prints warnings with --format %s', async (format, expected) => {
    const { code, stdout } = await check(BOOKS, '--format', format)
    expect(code).toBe(0)
    expect(stdout).toMatch(expected)
  })

  test('prints the first twenty errors, and all of them with --all', async () => {
    const { stdout, stderr } = await check(MANY)
    expect(stdout.match(/^error\[/gm)).toHaveLength(20)
    expect(stdout).toContain('and 5 more')
    expect(stderr).toContain('--all')
    const all = await runInHost(['check', '--all'], { cwd: project?.folder ?? '' })
    expect(all.stdout.match(/^error\[/gm)).toHaveLength(25)
    expect(all.stderr).toBe('')
  })

  test.each([
    { file: 'gone.js', text: undefined },
    { file: 'plugin.js', text: 'throw new Error("out of order")\n' },
    { file: 'plugin.js', text: 'export default 7\n' },
  ])('reports $text in a plugin', async ({ file, text }) => {
    project = await makeProject({
      'resources.yaml': `${BOOKS}plugins:\n  - ./${file}\n`,
      'package.json': '{"type":"module"}',
      ...(text === undefined ? {} : { [file]: text }),
    })
    const { code, stdout } = await runInHost(['check'], { cwd: project.folder })
    expect(code).toBe(1)
    expect(stdout).toContain('--> resources.yaml:16:')
    expect(stdout).toContain(file)
  })

  test('exits with 2 if there is no file to check', async () => {
    const outcome = await runCli(['check', '--config', 'nowhere.yaml'])
    expect(outcome).toMatchObject({ code: 2, stdout: '' })
    expect(outcome.stderr).toBe(
      'error: cannot read `nowhere.yaml`: there is no such file\n  = help: name another with --config FILE, or set SNIPPETCTL_CONFIG\n  = help: or start a project: snippetctl new FOLDER\n',
    )
  })

  test('uses the configuration in SNIPPETCTL_CONFIG', async () => {
    project = await makeProject({ 'conf/other.yaml': INDEXED })
    const { stdout } = await runInHost(['check'], {
      cwd: project.folder,
      env: { SNIPPETCTL_CONFIG: 'conf/other.yaml' },
    })
    expect(stdout).toBe('conf/other.yaml: ok, 1 resource, 6 routes\n')
  })
})
