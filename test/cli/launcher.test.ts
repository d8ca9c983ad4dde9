import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'snippetctl-'))
  for (const part of ['bin', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json']) {
    cpSync(part, join(checkout, part), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(checkout, 'node_modules'), 'junction')
  write('src/answer.ts', 'export const answer: number = 1\n')
  write('cli/main.ts', "import { answer } from '../src/answer.js'\nconsole.log(answer, ...process.argv.slice(2))\n")
})

afterEach(() => rmSync(checkout, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(join(checkout, path, '..'), { recursive: true })
  writeFileSync(join(checkout, path), text)
}

async function run(...args: readonly string[]): Promise<Outcome> {
  const child: ChildProcess = spawn(process.execPath, [...args], { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] })
  const written = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk: Buffer) => (written.stdout += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...written }
}

const launch = (...args: readonly string[]) => run(join(checkout, 'bin/snippetctl.js'), ...args)

describe('the command in a checkout', () => {
  test('needs little space for new objects, however many it creates', async () => {
    write(
      'cli/main.ts',
      `import { getHeapSpaceStatistics } from 'node:v8'
      const kept = Array.from({ length: 500_000 }, (_, at) => [at])
      const size = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size
      console.log(kept.length, size !== undefined && size <= 8 * 2 ** 20)`,
    )
    expect(await launch()).toEqual({ code: 0, stdout: '500000 true\n', stderr: '' })
  })

  test('compiles a missing program, and later changes', async () => {
    expect(await launch('a')).toEqual({ code: 0, stdout: '1 a\n', stderr: '' })
    const { mtime } = statSync(join(checkout, 'src/answer.ts'))
    write('src/answer.ts', 'export const answer: number = 2\n')
    // Some tools put a file's time back; its length is the same too.
    utimesSync(join(checkout, 'src/answer.ts'), mtime, mtime)
    expect(await launch('b')).toEqual({ code: 0, stdout: '2 b\n', stderr: '' })
  })

  test('does not recompile a current program, however recent its files are', async () => {
    await launch()
    const compiled = join(checkout, 'dist/src/answer.js')
    writeFileSync(compiled, 'export const answer = 3\n')
    write('src/answer.ts', 'export const answer: number = 1\n')
    expect(await launch()).toMatchObject({ stdout: '3\n' })
  })

  test('compiles once for several processes, each of which waits', async () => {
    const outcomes = await Promise.all([launch('x'), launch('x'), launch('x')])
    expect(outcomes).toEqual(Array(3).fill({ code: 0, stdout: '1 x\n', stderr: '' }))
    expect(readdirSync(checkout).filter((name) => name.startsWith('dist'))).toEqual(['dist'])
  })

  test('takes over the lock of a process that has ended', async () => {
    const gone = spawn(process.execPath, ['-e', ''])
    await once(gone, 'close')
    write('dist.lock', String(gone.pid))
    expect(await launch()).toMatchObject({ code: 0, stdout: '1\n' })
  })

  test('reports compilation errors, and keeps the compiled program', async () => {
    await launch()
    const before = readFileSync(join(checkout, 'dist/src/answer.js'), 'utf8')
    write('src/answer.ts', "export const answer: number = 'one'\n")
    const { code, stdout, stderr } = await launch()
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/src\/answer\.ts\(1,14\): error TS2322/)
    expect(readFileSync(join(checkout, 'dist/src/answer.js'), 'utf8')).toBe(before)
  })

  test('requires `npm ci` if there is neither a compiled program nor a compiler', async () => {
    rmSync(join(checkout, 'node_modules'))
    const { code, stderr } = await launch()
    expect(code).toBe(2)
    expect(stderr).toContain('run `npm ci`')
    expect(existsSync(join(checkout, 'dist'))).toBe(false)
  })
})

test('the installed command starts the compiled program without sources', async () => {
  await launch()
  for (const part of ['src', 'cli', 'scripts']) rmSync(join(checkout, part), { recursive: true })
  expect(await launch('c')).toEqual({ code: 0, stdout: '1 c\n', stderr: '' })
})

test.each(['18.20.8', '20.18.3', '8.17.0'])('Node %s is rejected in one sentence', async (version) => {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  expect(await run('--import', pretend, join(checkout, 'bin/snippetctl.js'))).toEqual({
    code: 2,
    stdout: '',
    stderr: `snippetctl needs Node 20.19 or newer, and this is Node ${version}.\n`,
  })
})
