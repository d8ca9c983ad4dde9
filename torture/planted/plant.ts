import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../bench/contestants.js'
import { copyCheckout } from '../checkout.js'
import { runJest } from '../jest.js'
import { BUGS, type PlantedBug } from './bugs.js'

/** Plants each bug in a copy of the sources and runs the test that must notice; answers the names of those that none did. */
export async function plantAll(part: string, say: (line: string) => void): Promise<readonly string[]> {
  const folder = copyCheckout()
  try {
    symlinkSync(join(HOME, 'node_modules'), join(folder, 'node_modules'))
    const missed: string[] = []
    for (const bug of BUGS.filter(({ name }) => name.includes(part))) {
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
    const env = { SNIPPETCTL_TEST_DB: caughtBy.database }
    const { passed, failed } = await runJest({ folder }, { files: [caughtBy.file], env, home: folder })
    // A file in which nothing passes may have failed for any reason.
    if (passed === 0) return `no test of ${caughtBy.file} ran: ${failed.join('; ')}`
    if (failed.some((name) => name.includes(caughtBy.test))) return undefined
    return `no test about "${caughtBy.test}" failed of ${caughtBy.file} (${passed} passed)`
  } finally {
    writeFileSync(path, text)
  }
}
