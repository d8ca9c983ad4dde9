import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, removeAtExit } from '../../src/internal.js'
import { Failure } from '../failure.js'
import type { Log } from '../serve/log/log.js'
import { writePrivate } from '../project/whole-file.js'

const POLL_INTERVAL_MS = 300
/** A server accepts a request within this time. */
const ACCEPT_TIMEOUT_MS = 10_000
const BACKUP_TIMEOUT_MS = 600_000

/**
 * Only the process that has opened an embedded database can back it up. Other processes request a backup through files next to the database,
 * whose permissions already decide who may: `pg.backup-ID.asked`, which the server renames to `.taken`, and `pg.backup-ID.made` or `.failed`, which it
 * creates. A process that no longer waits has removed `.taken`.
 */
function nameOf(embedded: string, id: string, state: 'asked' | 'taken' | 'part' | 'made' | 'failed') {
  return `${embedded}.backup-${id}.${state}`
}

const FILE = /\.backup-[0-9a-f-]{36}\.(asked|taken|part|made|failed)$/
const ASKED = /^.*\.backup-([0-9a-f-]{36})\.asked$/

/** Makes the backups that other processes request, until the returned function is called. */
export function answerBackups(embedded: string, database: Database, log: Log): () => Promise<void> {
  const { pack } = database
  if (!pack) return async () => {}
  const stop = new AbortController()
  const look = async () => {
    await removeLeft(embedded)
    let answered = Promise.resolve()
    while (!stop.signal.aborted) {
      for (const id of await requestsIn(embedded)) {
        await take(embedded, id)
        answered = answered.then(() => answer({ embedded, id, pack, log }))
      }
      await delay(POLL_INTERVAL_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {})
    }
    await answered
  }
  const looking = look().catch((error: unknown) => {
    log.error({ event: 'backups_off', msg: `backups can no longer be requested: ${String(error)}` })
  })
  return async () => {
    stop.abort()
    await looking
  }
}

/** Removes the files of processes that were killed. A process that still waits has newer ones; the database itself is elsewhere. */
async function removeLeft(embedded: string): Promise<void> {
  const [folder, prefix] = [dirname(embedded), `${basename(embedded)}.backup-`]
  for (const name of await readdir(folder).catch(() => [])) {
    const state = name.startsWith(prefix) ? FILE.exec(name)?.[1] : undefined
    if (state === undefined) continue
    const file = join(folder, name)
    const age = Date.now() - ((await stat(file).catch(() => undefined))?.mtimeMs ?? Date.now())
    if (age > 2 * (state === 'asked' ? ACCEPT_TIMEOUT_MS : BACKUP_TIMEOUT_MS)) await rm(file, { force: true })
  }
}

async function requestsIn(embedded: string): Promise<readonly string[]> {
  const prefix = `${basename(embedded)}.backup-`
  const names = await readdir(dirname(embedded)).catch(() => [])
  return names.filter((name) => name.startsWith(prefix)).flatMap((name) => ASKED.exec(name)?.[1] ?? [])
}

async function take(embedded: string, id: string): Promise<void> {
  await rename(nameOf(embedded, id, 'asked'), nameOf(embedded, id, 'taken')).catch((error: NodeJS.ErrnoException) => {
    // The process that asked has just ended.
    if (error.code !== 'ENOENT') throw error
  })
}

interface Request {
  readonly embedded: string
  readonly id: string
  readonly pack: NonNullable<Database['pack']>
  readonly log: Log
}

async function answer({ embedded, id, pack, log }: Request): Promise<void> {
  const taken = nameOf(embedded, id, 'taken')
  if (!existsSync(taken)) return
  const [made, failed] = [nameOf(embedded, id, 'made'), nameOf(embedded, id, 'failed')]
  try {
    const archive = await pack()
    await writePrivate(made, archive, nameOf(embedded, id, 'part'))
    log.info({ event: 'backed_up', bytes: archive.length, msg: `made a backup of ${archive.length} bytes` })
  } catch (error) {
    log.error({ event: 'backup_failed', msg: `a backup failed: ${String(error)}` })
    await writeFile(failed, String(error)).catch(() => {})
  }
  for (const file of existsSync(taken) ? [taken] : [made, failed]) await rm(file, { force: true }).catch(() => {})
}

/** Requests a backup from the process that has opened the embedded database. @throws Failure 2 if it makes none */
export async function askForBackup(embedded: string, shown: string): Promise<Buffer> {
  const id = randomUUID()
  const file = (state: Parameters<typeof nameOf>[2]) => nameOf(embedded, id, state)
  // `.taken` before the answer: if it is gone, the server removes the answer itself.
  const removals = (['asked', 'taken', 'made', 'failed'] as const).map((state) => removeAtExit(file(state)))
  try {
    await writeFile(file('asked'), '', { flag: 'wx', mode: 0o600 })
    if (!(await until(() => !existsSync(file('asked')), ACCEPT_TIMEOUT_MS)))
      throw new Failure(2, `${shown} is in use by a process that is not a server, so it cannot make a backup`, [
        'try again when that process has ended',
      ])
    const answered = await until(() => existsSync(file('made')) || existsSync(file('failed')), BACKUP_TIMEOUT_MS)
    if (answered && existsSync(file('made'))) return await readFile(file('made'))
    const reason = answered ? await readFile(file('failed'), 'utf8') : 'it did not answer'
    throw new Failure(2, `the server made no backup: ${reason}`)
  } finally {
    for (const remove of removals) remove()
  }
}

async function until(isDone: () => boolean, longest: number): Promise<boolean> {
  const end = performance.now() + longest
  while (performance.now() < end) {
    if (isDone()) return true
    await delay(POLL_INTERVAL_MS)
  }
  return isDone()
}
