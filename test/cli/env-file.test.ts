import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  startServe,
} from '../support/cli.js'

const SECRET = 'postgres://app:s3cret-word@127.0.0.1:1/app'

let project: Project

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': BOOKS,
    'other.yaml': BOOKS,
    'two words.yaml': BOOKS,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  })
})

afterAll(() => project.remove())

const run = async (text: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  await project.write('.env', text)
  return runInHost(args, { cwd: project.folder, env: { SNIPPETCTL_ENV_FILE: '.env', ...env } })
}

const configurationOf = ({ stdout }: { readonly stdout: string }): string | undefined =>
  /^(.+\.yaml): ok/m.exec(stdout)?.[1]

describe('the file of variables', () => {
  test.each([
    ['a value', 'SNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['a value with a comment, after other lines', '# ours\n\nA=1\nSNIPPETCTL_CONFIG = other.yaml # mine', 'other.yaml'],
    ['quotes, spaces and Windows line ends', 'SNIPPETCTL_CONFIG="two words.yaml"\r\nB=2\r\n', 'two words.yaml'],
    ['shell syntax', "export SNIPPETCTL_CONFIG='other.yaml'\n", 'other.yaml'],
    ['a value after a multi-line value', 'A="one\n# two\n"\nSNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['a tab before the name', '\tSNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['several spaces after `export`', 'export  SNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['a tab after `export`', 'export\tSNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['tabs around the equals sign, and after quotes', 'SNIPPETCTL_CONFIG\t=\t"other.yaml"\t# mine\n', 'other.yaml'],
    ['tabs around a value', 'SNIPPETCTL_CONFIG=\tother.yaml\t\n', 'other.yaml'],
    ['a variable named __proto__', '__proto__=5\nSNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    ['a no-break space, which belongs to the value', 'SNIPPETCTL_CONFIG=other.yaml\u00a0\n', undefined],
    ['a value that begins with a no-break space', 'A=\u00a0a\nSNIPPETCTL_CONFIG=other.yaml\n', 'other.yaml'],
    [
      'line separators, which end no line',
      'A=a\u2028b # c\u2028d\n# e\u2029f\nSNIPPETCTL_CONFIG=other.yaml',
      'other.yaml',
    ],
    ['carriage returns as line ends', 'A=1\rSNIPPETCTL_CONFIG=other.yaml\r', 'other.yaml'],
    ['no content', '', 'resources.yaml'],
  ])('is read with %s', async (_, text, configuration) => {
    const outcome = await run(text, ['check'])
    expect(configurationOf(outcome)).toBe(configuration)
  })

  test('is overridden by the environment, and not read in production', async () => {
    const text = 'SNIPPETCTL_CONFIG=other.yaml\n'
    const given = { SNIPPETCTL_CONFIG: 'two words.yaml' }
    expect(configurationOf(await run(text, ['check'], given))).toBe('two words.yaml')
    expect(configurationOf(await run(text, ['check'], { NODE_ENV: 'production' }))).toBe('resources.yaml')
    expect(configurationOf(await run(text, ['check'], { SNIPPETCTL_ENV_FILE: '' }))).toBe('resources.yaml')
    expect(await run('A B\n', ['check'], { NODE_ENV: 'production' })).toMatchObject({ code: 0 })
  })

  test.each([
    [`A=1\n\n${SECRET}\n`, '.env:3: not NAME=value'],
    [
      `DATABASE_URL="${SECRET}\nB=2\n`,
      '.env:1: the value has a quote that is not closed, or text after the closing quote',
    ],
    [`# a\nDATABASE_URL='${SECRET}' x\n`, '.env:2: the value has a quote that is not closed, or text after'],
    [`1A=${SECRET}\n`, '.env:1: not NAME=value'],
    ['A=1\nNODE_ENV=production\n', '.env:2: NODE_ENV is production, and in production no file of variables is read'],
  ])('is rejected with %j, naming the line but not the value', async (text, message) => {
    const { code, stdout, stderr } = await run(text, ['check'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`error: ${message}`)
    expect(stderr).not.toContain('s3cret')
  })

  test('must exist if it is named', async () => {
    const { code, stderr } = await run('', ['check'], { SNIPPETCTL_ENV_FILE: 'local.env' })
    expect(code).toBe(2)
    expect(stderr).toContain('cannot read `local.env`: there is no such file')
  })

  test('may be a directory called .env, which is ignored, but no other directory', async () => {
    const other = await makeProject({ 'resources.yaml': BOOKS, '.env/pyvenv.cfg': '', 'local/a': '' })
    const check = (env: Readonly<Record<string, string>>) => runInHost(['check'], { cwd: other.folder, env })
    expect(await check({ SNIPPETCTL_ENV_FILE: '.env' })).toMatchObject({ code: 0 })
    const named = await check({ SNIPPETCTL_ENV_FILE: 'local' })
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('cannot read `local`: it is a directory')])
    await other.remove()
  })

  test('does not matter for help and completions', async () => {
    expect(await run('A B\n', ['check', '--help'])).toMatchObject({ code: 0 })
    expect(await run('A B\n', ['completion', 'bash'])).toMatchObject({ code: 0, stderr: '' })
  })
})

test('doctor lists the variables that the file sets, or its error, without values', async () => {
  const doctor = async (text: string) => (await run(text, ['doctor'], { PORT: '0' })).stdout
  const said = await doctor(`DATABASE_URL=${SECRET}\nPORT=1\n`)
  expect(said).toMatch(/^ok {2,}variables +\.env sets DATABASE_URL$/m)
  expect(said).not.toContain('s3cret')
  expect(await doctor('toString=5\n__proto__=5\n')).toMatch(/^ok {2,}variables +\.env sets toString, __proto__$/m)
  expect(await doctor('A B\n')).toMatch(/^fail +variables +\.env:1: not NAME=value$/m)
})

test('serve logs the names of the variables that the file sets, and uses them', async () => {
  await project.write('.env', 'SNIPPETCTL_CONFIG=other.yaml\nSNIPPETCTL_ACCESS_LOG=off\n')
  const env = { SNIPPETCTL_ENV_FILE: '.env', SNIPPETCTL_ACCESS_LOG: 'all' }
  const serving = await startServe(['--migrate'], { cwd: project.folder, env })
  expect(await serving.logged('env_file')).toMatchObject({
    file: '.env',
    variables: ['SNIPPETCTL_CONFIG'],
    msg: '.env sets SNIPPETCTL_CONFIG',
  })
  expect(await serving.stop()).toMatchObject({ code: 0 })
})
