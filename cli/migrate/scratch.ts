import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { type Database, openResultStore, openScratch, withParts } from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders } from '../context.js'
import { createStages } from '../progress.js'

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

interface ScratchSize {
  /** The approximate number of its tables; 0 by default. */
  readonly tables?: number
}

/** Returns the scratch database for commands without the option. */
export function scratchOf({ env }: CliContext): ScratchOptions {
  const url = env[VARIABLE]
  return url === undefined ? {} : { scratch: url }
}

/** Opens an empty database: an embedded one, unless the option or the environment names a server. It keeps results next to the configuration. */
export async function openScratchOf(
  context: CliContext,
  { scratch: url, config, tables }: ScratchOptions & CommonOptions & ScratchSize,
): Promise<Database> {
  // The names of the program's other files contain digests of their content, so this one changes with all of them.
  const program = hash('sha256', await readFile(context.program))
  const { schemas } = projectFolders(resolve(context.cwd, config))
  const results = openResultStore(schemas, `${context.version} ${program}`)
  const scratch =
    url === undefined
      ? await context.openScratch(tables)
      : await openScratch({ server: { url, variable: url === context.env[VARIABLE] ? VARIABLE : '--scratch' } })
  return withParts(scratch, { results })
}

/** Runs `work` with that database, and closes it. A bar at the terminal shows work that takes long. */
export async function withScratch<T>(
  context: CliContext,
  options: ScratchOptions & CommonOptions & ScratchSize,
  work: (scratch: Database) => Promise<T>,
): Promise<T> {
  const stages = createStages(context, SCRATCH_STAGES)
  stages.next('opening a scratch database')
  return withSilentScratch(context, options, (scratch) => {
    stages.next('running the migrations in it')
    return work(scratch)
  }).finally(() => stages.end())
}

const SCRATCH_STAGES = 2

/** The same without a bar, for a server, whose terminal has its log. */
export async function withSilentScratch<T>(
  context: CliContext,
  options: ScratchOptions & CommonOptions & ScratchSize,
  work: (scratch: Database) => Promise<T>,
): Promise<T> {
  const scratch = await openScratchOf(context, options)
  try {
    return await work(scratch)
  } finally {
    await scratch.close()
  }
}
