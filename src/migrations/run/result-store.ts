import { hash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { ResultStore } from '../../db/database.js'
import { writeWhole } from '../../foundation/write-whole.js'

/** The maximum number of kept results. `migrate plan` and `migrate status` together need six for each state of the files. */
const MAX_RESULTS = 20

const EXTENSION = '.json.gz'

const DIGEST_LENGTH = 64

/**
 * Keeps results as files in a folder, which may be deleted at any time. A file that is damaged counts as missing, and the least recently used results
 * are removed. A folder that cannot be written to keeps nothing.
 * @param program identifies the code that computes the results: other code finds none of them
 */
export function openResultStore(folder: string, program: string): ResultStore {
  const fileOf = (key: string) => join(folder, `${hash('sha256', `${program}\n${key}`)}${EXTENSION}`)
  return {
    async read(key) {
      const file = fileOf(key)
      const value = await readResult(file)
      if (value !== undefined) await utimes(file, new Date(), new Date()).catch(() => {})
      return value
    },
    async write(key, value) {
      // If the folder cannot be written to, the next command computes the result again.
      await writeResult(folder, fileOf(key), value).catch(() => {})
    },
  }
}

async function readResult(file: string): Promise<unknown> {
  const packed = await readFile(file).catch(() => undefined)
  if (packed === undefined) return undefined
  try {
    const text = (await promisify(gunzip)(packed)).toString('utf8')
    const body = text.slice(DIGEST_LENGTH)
    if (hash('sha256', body) !== text.slice(0, DIGEST_LENGTH)) return undefined
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}

async function writeResult(folder: string, file: string, value: unknown): Promise<void> {
  const body = JSON.stringify(value)
  await mkdir(folder, { recursive: true })
  await writeWhole(file, await promisify(gzip)(hash('sha256', body) + body))
  await removeOldest(folder)
}

/** Drafts are left by processes that were killed; they are removed like results. */
async function removeOldest(folder: string): Promise<void> {
  const paths = (await readdir(folder)).map((name) => join(folder, name))
  const used = await Promise.all(paths.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })))
  const oldest = used.toSorted((one, other) => other.at - one.at).slice(MAX_RESULTS)
  for (const { path } of oldest) await rm(path, { force: true })
}
