import { renumber as renumberFiles } from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders, requireSpec } from '../context.js'
import { hasDatabase, openReachable } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface RenumberOptions extends CommonOptions, ScratchOptions {
  readonly journal?: true
}

/** `migrate renumber`: gives files later numbers if two branches have used the same one. */
export async function renumber(
  context: CliContext,
  names: readonly string[],
  options: RenumberOptions,
): Promise<ExitCode> {
  const { file } = await requireSpec(context, options)
  const { migrations } = projectFolders(file)
  const database = hasDatabase(context, file) ? await openReachable(context, file) : undefined
  try {
    const request = { names, inJournal: options.journal === true, database }
    const renamed = await withScratch(context, options, (scratch) => renumberFiles(migrations, { ...request, scratch }))
    for (const { from, to } of renamed) context.err.line(`renamed ${from} to ${to}`)
    context.err.line('  next   see what is pending: snippetctl migrate status')
    return 0
  } finally {
    await database?.close()
  }
}
