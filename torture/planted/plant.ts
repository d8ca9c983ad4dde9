import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../bench/contestants.js'
import { copyCheckout } from '../checkout.js'
import { runJest, type Suite } from '../jest.js'
import { BUGS, type PlantedBug } from './bugs.js'

/** Milliseconds for one test: a bug may keep it from ever ending. */
const PATIENCE = 60_000

/** Plants each bug in a copy of the sources and runs the test that must detect it; returns the names of undetected bugs. */
export async function plantAll(parts: readonly string[], say: (line: string) => void): Promise<readonly string[]> {
  const folder = copyCheckout()
  try {
    symlinkSync(join(HOME, 'node_modules'), join(folder, 'node_modules'))
    const missed: string[] = []
    for (const bug of BUGS.filter(({ name }) => parts.some((part) => name.includes(part)))) {
      const fault = await plant(folder, bug)
      say(`${fault === undefined ? 'caught ' : 'MISSED '} ${bug.name}: ${fault ?? bug.caughtBy.file}`)
      if (fault !== undefined) missed.push(bug.name)
    }
    return missed
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns why the bug was not caught */
async function plant(folder: string, { file, search, replace, caughtBy }: PlantedBug): Promise<string | undefined> {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(search).length !== 2) return `${file} does not have the text to replace exactly once: ${search}`
  writeFileSync(
    path,
    text.replace(search, () => replace),
  )
  try {
    const mistakes = build(folder)
    if (mistakes !== '') return `the sources do not compile with it: ${mistakes}`
    const env = { SNIPPETCTL_TEST_DB: caughtBy.database }
    const name = caughtBy.test.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    const files = [`${caughtBy.file}.test.ts`]
    return faultOf(caughtBy, await runJest({ folder }, { files, env, home: folder, name, timeout: PATIENCE }))
  } finally {
    writeFileSync(path, text)
  }
}

/** Tests run the command as it was built, and would all fail if it did not compile, and that would say nothing about them. */
function build(folder: string): string {
  const script = join(folder, 'scripts/build-when-stale.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  return status === 0 ? '' : stderr.trimEnd()
}

/**
 * Only a test that ran and failed has caught a bug, alone or with all the others of its file: a file that cannot be loaded may have met any mistake.
 * @returns why the bug was not caught
 */
export function faultOf(
  { file, test }: PlantedBug['caughtBy'],
  { passed, failed, failedTests }: Pick<Suite, 'passed' | 'failed' | 'failedTests'>,
): string | undefined {
  if (failedTests.some((name) => name.includes(test))) return undefined
  const others = failed.length > 0 ? `, but ${failed.join('; ')}` : ''
  return `no test named "${test}" failed in ${file} (${passed} passed)${others}`
}
