import { spawnSync } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { BOOKS, makeProject, type Project, runInHost } from '../support/cli.js'

let project: Project

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': BOOKS,
    'other.yaml': `${BOOKS.replaceAll('book', 'author')}auth: { keys: true, roles: { names: [editor, reader] } }
mounts:
  - { path: /shop, dialect: simple-rest }
`,
  })
  const launcher = join(project.folder, 'snippetctl')
  await writeFile(launcher, `#!/bin/sh\nexec '${process.execPath}' '${resolve('bin', 'snippetctl.js')}' "$@"\n`)
  await chmod(launcher, 0o755)
})

afterAll(() => project.remove())

const inShell = (shell: string, args: readonly string[], script: string): string => {
  const env = { PATH: `${project.folder}:${process.env['PATH']}`, HOME: project.folder, LC_ALL: 'C.UTF-8' }
  const { stdout, stderr } = spawnSync(shell, [...args, script], { cwd: project.folder, env, encoding: 'utf8' })
  return stdout + stderr
}

const has = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0

/** What each shell offers behind the words, by the way in which it asks. */
const SHELLS: Readonly<Record<string, (words: readonly string[]) => string>> = {
  bash: (words) =>
    inShell(
      'bash',
      ['--norc', '-c'],
      `source <(snippetctl completion bash)
       COMP_WORDS=(snippetctl ${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length}
       _snippetctl
       printf '%s\\n' "\${COMPREPLY[@]}"
       complete -p snippetctl`,
    ).replace('complete -o default -F _snippetctl snippetctl\n', ''),
  // Only a line editor completes in zsh, so what it would be given is taken from the function that shows it.
  zsh: (words) =>
    inShell(
      'zsh',
      ['-f', '-c'],
      `compdef() { print "registered for $2" >&2 }
       source <(snippetctl completion zsh) 2>/dev/null
       _describe() { print -l -- "\${(P@)2%%:*}" }
       _files() { print }
       words=(snippetctl ${words.map((word) => `'${word}'`).join(' ')}) CURRENT=${words.length + 1}
       _snippetctl`,
    ),
  fish: (words) =>
    inShell(
      'fish',
      ['--no-config', '-c'],
      `snippetctl completion fish | source; complete -C 'snippetctl ${words.join(' ')}'`,
    ).replaceAll(/\t.*$/gm, ''),
}

const PAGINATION = ['style', 'page_size', 'max_page_size', 'max_offset', 'count', 'envelope'].map(
  (key) => `resources.pagination.${key}`,
)

const CASES = [
  { words: ['ser'], offered: ['serve'] },
  { words: ['migrate', 's'], offered: ['squash', 'status'] },
  { words: ['url', 'book-'], offered: ['book-list', 'book-detail'] },
]

describe.each(Object.keys(SHELLS))('the script for %s (promise 22)', (shell) => {
  // zsh and fish are there where somebody has installed them; bash always is.
  const run = shell === 'bash' || has(shell) ? test : test.skip
  run('completes what the program knows', () => {
    for (const { words, offered } of CASES) {
      const said = SHELLS[shell]?.(words) ?? ''
      expect(said.trim().split('\n').sort()).toEqual([...offered].sort())
    }
  })
})

test('bash completes files where the program has no suggestions', () => {
  expect(SHELLS['bash']?.(['serve', '--config', '']).trim()).toBe('')
  expect(inShell('bash', ['--norc', '-c'], 'source <(snippetctl completion bash); complete -p snippetctl')).toContain(
    '-o default',
  )
})

test.each([
  { words: ['check', '--format', '='], offered: ['text', 'json', 'github'] },
  { words: ['check', '--format', '=', 'g'], offered: ['github'] },
  { words: ['url', '--config', '=', 'other.yaml', 'shop', ':', 'author-l'], offered: ['author-list'] },
])('bash completes the last part of a word that it has split: $words', ({ words, offered }) => {
  expect(SHELLS['bash']?.(words).trim().split('\n')).toEqual(offered)
})

describe('the suggestions', () => {
  const offeredIn = async (env: Readonly<Record<string, string>>, ...words: readonly string[]) => {
    const { code, stdout, stderr } = await runInHost(['__complete', '--', ...words], { cwd: project.folder, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t')[0])
  }
  const offered = (...words: readonly string[]) => offeredIn({}, ...words)

  test.each([
    [
      ['check', '--format', ''],
      ['text', 'json', 'github'],
    ],
    [
      ['explain', 'SC30'],
      ['SC301', 'SC302', 'SC303', 'SC304', 'SC305', 'SC306', 'SC307', 'SC308', 'SC309'],
    ],
    [
      ['explain', 'resources.pa'],
      ['resources.path', 'resources.pagination', ...PAGINATION],
    ],
    [
      ['url', '--config', 'other.yaml', 'a'],
      ['author-list', 'author-detail'],
    ],
    [['url', '--config', 'missing.yaml', ''], []],
    [['check', '--format=g'], ['--format=github']],
    [['dump', ''], ['book']],
    [['dump', '--config=other.yaml', ''], ['author']],
    [['seed', '--resource', ''], ['book']],
    [
      ['keys', 'create', '--config', 'other.yaml', '--role', ''],
      ['editor', 'reader'],
    ],
    [['keys', 'create', '--role', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['nowhere', ''], []],
  ])('after %j, the suggestions are %j', async (words, expected) => {
    expect((await offered(...words)).sort()).toEqual([...expected].sort())
  })

  test('are those of the configuration that the environment names', async () => {
    const env = { SNIPPETCTL_CONFIG: 'other.yaml' }
    expect(await offeredIn(env, 'dump', '')).toEqual(['author'])
    expect(await offeredIn(env, 'dump', '--config', 'resources.yaml', '')).toEqual(['book'])
  })
})
