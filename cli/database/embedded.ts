import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type CliContext, type CommonOptions, projectFolders, requireSpec, shownPath } from '../context.js'
import { Failure } from '../failure.js'

/** The embedded database of a configuration, which need not be there. */
export interface Embedded {
  /** The file of the configuration. */
  readonly config: string
  readonly path: string
  /** The path as people write it. */
  readonly shown: string
}

/** The embedded database that belongs to the file of a configuration. */
export function embeddedOf(context: CliContext, config: string): Embedded {
  const { embedded } = projectFolders(config)
  return { config, path: embedded, shown: shownPath(context, embedded) }
}

/** Whether there is a database, and not only a folder for one. */
export function isThere({ path }: Embedded): boolean {
  return existsSync(join(path, 'PG_VERSION'))
}

/**
 * The embedded database, for commands that are for no other.
 * @param instead the programs that do it with a server
 * @throws Failure 2 when DATABASE_URL names a server
 */
export async function requireEmbedded(context: CliContext, options: CommonOptions, instead: string): Promise<Embedded> {
  if (context.env['DATABASE_URL'] !== undefined)
    throw new Failure(2, 'DATABASE_URL is set, and this is for the embedded database', [
      `a server has commands of its own: ${instead}`,
    ])
  const { file } = await requireSpec(context, options)
  return embeddedOf(context, file)
}

/** @throws Failure 2 when there is none */
export function requireThere(embedded: Embedded): void {
  if (!isThere(embedded)) throw new Failure(2, `there is no embedded database in ${embedded.shown}`)
}
