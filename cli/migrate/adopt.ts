import { adoptDrift, declareField, writeWhole } from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec, shownPath } from '../context.js'
import { onDatabase } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { readConfigText } from '../project/config-text.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface AdoptOptions extends CommonOptions, ScratchOptions {}

/** `migrate adopt`: records an object that exists only in the database as a migration, without changing the object. */
export async function adopt(context: CliContext, object: string, options: AdoptOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  return onDatabase<ExitCode>(context, spec, async (database, folder) => {
    const { file, column, known, resumed } = await withScratch(context, options, (scratch) =>
      adoptDrift(database, folder, { spec, object, scratch }),
    )
    const migration = shownPath(context, file)
    context.err.line(
      resumed
        ? `${migration}, which an earlier \`migrate adopt\` wrote, is recorded as applied: ${object} exists already`
        : `wrote ${migration} and recorded it as applied: ${object} exists already`,
    )
    if (known !== undefined) {
      context.err.line(`  ! the migration creates nothing, because an empty database cannot create ${object}: ${known}`)
      context.err.line('    status and plan ignore it from now on, and no migration drops it')
    }
    if (column === undefined) return 0
    const text = await readConfigText(context, spec.file)
    const written = declareField(text, spec.file, column)
    const shown = shownPath(context, spec.file)
    if (written === undefined) {
      context.err.line(
        `  ! no field for it could be written into ${shown}: the next plan drops the column unless you add one`,
      )
      return 0
    }
    await writeWhole(spec.file, written)
    context.err.line(`wrote a field for ${column.table}.${column.name} into ${shown}, private for now`)
    return 0
  })
}
