import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../bench/contestants.js'
import type { Arena } from './trial.js'

/** The results of some test files. */
export interface Suite {
  readonly passed: number
  /** Names of tests that failed, and of files that could not run. */
  readonly failed: readonly string[]
  /** The tests alone. */
  readonly failedTests: readonly string[]
  readonly skipped: number
}

/** The parts of Jest's report that are used. */
export interface JestReport {
  readonly numPassedTests: number
  readonly numPendingTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

interface JestWishes {
  /** Parts of the names of test files; none is all of them. */
  readonly files: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly home?: string
  /** Only tests whose names match this regular expression. */
  readonly name?: string
  /** Milliseconds for each test, where its file says nothing else. */
  readonly timeout?: number
}

/** Runs files of the suite, in one process after the other. */
export async function runJest(
  arena: Pick<Arena, 'folder'>,
  { files, env, home = HOME, name, timeout }: JestWishes,
): Promise<Suite> {
  const report = join(arena.folder, `jest-${process.hrtime.bigint()}.json`)
  const words = ['--disable-warning=ExperimentalWarning', join(home, 'node_modules/jest/bin/jest.js')]
  // A failed test may leave something open, which would keep the process running forever.
  const options = [
    '--json',
    '--forceExit',
    `--outputFile=${report}`,
    '--maxWorkers=1',
    ...(name === undefined ? [] : ['-t', name]),
    ...(timeout === undefined ? [] : [`--testTimeout=${timeout}`]),
  ]
  const { TEST_DATABASE_URL: _given, SNIPPETCTL_TEST_DB: _kind, ...rest } = process.env
  const child = spawn(process.execPath, [...words, ...options, ...files], {
    cwd: home,
    env: { ...rest, ...env },
    stdio: 'ignore',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (!existsSync(report)) return { passed: 0, failed: [`jest ended with ${code}`], failedTests: [], skipped: 0 }
  return readReport(JSON.parse(readFileSync(report, 'utf8')) as JestReport)
}

export function readReport({ numPassedTests, numPendingTests, testResults }: JestReport): Suite {
  const failures = testResults.map(({ name: file, status, assertionResults }) => {
    const tests = assertionResults.filter((one) => one.status === 'failed').map(({ fullName }) => fullName)
    return { tests, broken: status === 'failed' && tests.length === 0 ? [`${file} could not run`] : [] }
  })
  return {
    passed: numPassedTests,
    failed: failures.flatMap(({ tests, broken }) => [...tests, ...broken]),
    failedTests: failures.flatMap(({ tests }) => tests),
    skipped: numPendingTests,
  }
}
