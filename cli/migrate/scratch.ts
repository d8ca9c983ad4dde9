import { Option } from 'commander'
import { type Database, openScratch } from '../../src/internal.js'
import type { CliContext } from '../context.js'

const VARIABLE = 'DATABASE_SCRATCH_URL'

/** The option of commands that run migrations on a scratch database. */
export function scratchOption(): Option {
  return new Option(
    '--scratch <url>',
    'test the migrations in this empty PostgreSQL database, for extensions that the embedded one lacks',
  ).env(VARIABLE)
}

export interface ScratchOptions {
  readonly scratch?: string
}

/** Returns the scratch database for commands without the option. */
export const scratchOf = ({ env }: CliContext): ScratchOptions => {
  const url = env[VARIABLE]
  return url === undefined ? {} : { scratch: url }
}

/** Opens an empty database: an embedded one, unless the option or the environment names a server. */
export function openScratchOf(context: CliContext, { scratch: url }: ScratchOptions): Promise<Database> {
  if (url === undefined) return context.openScratch()
  return openScratch({ url, variable: url === context.env[VARIABLE] ? VARIABLE : '--scratch' })
}

/** Runs `work` with that database, and closes it. */
export async function withScratch<T>(
  context: CliContext,
  options: ScratchOptions,
  work: (scratch: Database) => Promise<T>,
): Promise<T> {
  const scratch = await openScratchOf(context, options)
  try {
    return await work(scratch)
  } finally {
    await scratch.close()
  }
}
