import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../src/internal.js'
import { Failure } from '../failure.js'
import type { Log } from '../serve/log.js'
import { writeWhole } from '../project/whole-file.js'

/** Milliseconds between two looks for a request, and for its answer. */
const PAUSE = 300
/** Milliseconds after which nobody is there who answers requests. */
const PATIENCE = 10_000
/** Milliseconds for a backup that is being made. */
const LONGEST = 600_000

/**
 * Only the process that has an embedded database can back it up. Others ask it by a file beside the database, because that is where the
 * right to do so is already given: `pg.backup-ID.asked`, which it takes away, and `pg.backup-ID.made` or `.failed`, which it puts there.
 */
const nameOf = (embedded: string, id: string, state: 'asked' | 'part' | 'made' | 'failed') =>
  `${embedded}.backup-${id}.${state}`

const ASKED = /^.*\.backup-([0-9a-f-]{36})\.asked$/

/** Answers those who ask for a backup of the embedded database that this process has, until the function that it returns is called. */
export function answerBackups(embedded: string, database: Database, log: Log): () => Promise<void> {
  const { pack } = database
  if (!pack) return async () => {}
  const stop = new AbortController()
  const look = async () => {
    while (!stop.signal.aborted) {
      for (const id of await requestsIn(embedded)) await answer({ embedded, id, pack, log })
      await delay(PAUSE, undefined, { signal: stop.signal, ref: false }).catch(() => {})
    }
  }
  const looking = look().catch((error: unknown) => {
    log.error({ event: 'backups_off', msg: `requests for backups are no longer answered: ${String(error)}` })
  })
  return async () => {
    stop.abort()
    await looking
  }
}

async function requestsIn(embedded: string): Promise<readonly string[]> {
  const prefix = `${basename(embedded)}.backup-`
  const names = await readdir(dirname(embedded)).catch(() => [])
  return names.filter((name) => name.startsWith(prefix)).flatMap((name) => ASKED.exec(name)?.[1] ?? [])
}

interface Request {
  readonly embedded: string
  readonly id: string
  readonly pack: NonNullable<Database['pack']>
  readonly log: Log
}

async function answer({ embedded, id, pack, log }: Request): Promise<void> {
  await rm(nameOf(embedded, id, 'asked'), { force: true })
  try {
    const archive = await pack()
    await writeWhole(archive, nameOf(embedded, id, 'made'), nameOf(embedded, id, 'part'))
    log.info({ event: 'backed_up', bytes: archive.length, msg: `made a backup of ${archive.length} bytes` })
  } catch (error) {
    log.error({ event: 'backup_failed', msg: `a backup failed: ${String(error)}` })
    await writeFile(nameOf(embedded, id, 'failed'), String(error)).catch(() => {})
  }
}

/** Asks the process that has the embedded database for a backup. @throws Failure 2 when it does not make one */
export async function askForBackup(embedded: string, shown: string): Promise<Buffer> {
  const id = randomUUID()
  const file = (state: Parameters<typeof nameOf>[2]) => nameOf(embedded, id, state)
  try {
    await writeFile(file('asked'), '', { flag: 'wx', mode: 0o600 })
    if (!(await until(() => !existsSync(file('asked')), PATIENCE)))
      throw new Failure(2, `${shown} is in use by a process that does not answer: it is no server`, [
        'try again when that process has ended',
      ])
    const answered = await until(() => existsSync(file('made')) || existsSync(file('failed')), LONGEST)
    if (answered && existsSync(file('made'))) return await readFile(file('made'))
    const reason = answered ? await readFile(file('failed'), 'utf8') : 'it did not answer'
    throw new Failure(2, `the server made no backup: ${reason}`)
  } finally {
    for (const state of ['asked', 'made', 'failed'] as const) await rm(file(state), { force: true })
  }
}

async function until(isDone: () => boolean, longest: number): Promise<boolean> {
  const end = performance.now() + longest
  while (performance.now() < end) {
    if (isDone()) return true
    await delay(PAUSE)
  }
  return isDone()
}
