import { squash as squashFiles } from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders, requireSpec, shownPath } from '../context.js'
import { hasDatabase, openReachable } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface SquashOptions extends CommonOptions, ScratchOptions {
  readonly through?: string
  readonly name: string
}

/** `migrate squash`: replaces migration files by one file that creates the same schema. */
export async function squash(context: CliContext, options: SquashOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const { migrations } = projectFolders(spec.file)
  const database = hasDatabase(context, spec.file) ? await openReachable(context, spec.file) : undefined
  try {
    const request = { spec, through: options.through, name: options.name, database }
    const { file, replaced, kept } = await withScratch(context, { ...options, tables: spec.models.length }, (scratch) =>
      squashFiles(migrations, { ...request, scratch }),
    )
    context.err.line(
      `wrote ${shownPath(context, file)} in place of ${count(replaced.length, 'file')}: it creates the same schema`,
    )
    if (kept !== undefined) context.err.line(`  ! it repeats their statements one by one, because ${kept}`)
    context.err.line('  ! `migrate down` stops at it, because it has no down part')
    context.err.line(
      `  next   before other databases get this version, they must have applied all of ${replaced[0]} to ${replaced.at(-1)}, or none`,
    )
    return 0
  } finally {
    await database?.close()
  }
}
