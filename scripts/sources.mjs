/** What dist/ is made of, and a quick look at whether anything of it was touched. Imports as little as it can: every start waits for it. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const HOME = fileURLToPath(new URL('..', import.meta.url))
const SOURCES = ['src', 'cli', 'tsconfig.json', 'package-lock.json', 'scripts/bundle.mjs', 'scripts/compile-shape.mjs']

/** Every file that the compiled program depends on, in a fixed order. */
export function sourcesOf(home) {
  return SOURCES.flatMap((source) => filesUnder(join(home, source)))
}

/**
 * Whether the sources are the very files that `noteSeen` saw: where a file was written, its change time is another. Says no of a copy.
 * @param {string} home the checkout
 */
export function isUntouched(home = HOME) {
  try {
    return readFileSync(seen(home), 'utf8') === look(home)
  } catch {
    return false
  }
}

/** What the sources look like now, for `noteSeen`; to be taken before they are read. */
export function look(home) {
  const lines = sourcesOf(home).map((file) => {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file)
    return `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
  })
  return lines.join('\n')
}

/** Notes that dist/ is what sources that looked so say. A folder that cannot be written costs time at the next start, nothing else. */
export function noteSeen(home, looks) {
  try {
    writeFileSync(seen(home), looks)
  } catch {}
}

function seen(home) {
  return join(home, 'dist', '.seen')
}

function filesUnder(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return []
  if (!stat.isDirectory()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => `${entry.parentPath ?? entry.path}/${entry.name}`)
    .sort()
}
