import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { finishRestore } from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders, requireSpec, shownPath } from '../context.js'
import { Failure } from '../failure.js'

/** The embedded database of a configuration, which may not exist. */
export interface Embedded {
  /** The configuration file. */
  readonly config: string
  readonly path: string
  /** The path for messages. */
  readonly shown: string
}

export function embeddedOf(context: CliContext, config: string): Embedded {
  const { embedded } = projectFolders(config)
  return { config, path: embedded, shown: shownPath(context, embedded) }
}

/** Whether the folder has a database, after the end of a restore that was killed. */
export function exists({ path }: Embedded): boolean {
  finishRestore(path)
  return existsSync(join(path, 'PG_VERSION'))
}

/**
 * Returns the embedded database, for commands that do not work with servers.
 * @param instead the programs that do the same with a server
 * @throws Failure 2 if `DATABASE_URL` is set
 */
export async function requireEmbedded(context: CliContext, options: CommonOptions, instead: string): Promise<Embedded> {
  if (context.env['DATABASE_URL'] !== undefined)
    throw new Failure(2, 'DATABASE_URL is set, but this command works only with the embedded database', [
      `for a PostgreSQL server, use ${instead}`,
    ])
  const { file } = await requireSpec(context, options)
  const embedded = embeddedOf(context, file)
  finishRestore(embedded.path)
  return embedded
}

/** @throws Failure 2 if the database does not exist */
export function requireExisting(embedded: Embedded): void {
  if (!exists(embedded)) throw new Failure(2, `${embedded.shown} does not contain an embedded database`)
}
