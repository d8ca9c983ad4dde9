import type { Connection } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import type { Migration } from '../files/files.js'
import { runAll } from '../run/scratch.js'
import { attempt } from '../run/session.js'
import type { WantedTable } from './sql.js'

const CREATES_COLLATION = /^create\s+collation\b/i

/** The statements of files that create collations. */
export function collationsIn(files: readonly Migration[]): readonly string[] {
  return files
    .flatMap(({ up }) => up)
    .map(({ text }) => text)
    .filter((text) => CREATES_COLLATION.test(text))
}

/**
 * Creates the collations of the migration files in the target schema.
 * @throws MigrationError for fields with a collation that neither the database nor the files have
 */
export async function prepareCollations(
  session: Connection,
  wanted: readonly WantedTable[],
  files: readonly Migration[],
): Promise<void> {
  for (const text of collationsIn(files)) await attempt(session, () => runAll(session, [text]))
  const fields = wanted.flatMap(({ model, columns }) =>
    columns.flatMap(({ field, type }) => {
      const [, collation] = / collate "(.*)"$/.exec(type) ?? []
      return collation === undefined ? [] : [{ place: `${model}.${field}`, collation }]
    }),
  )
  const names = JSON.stringify([...new Set(fields.map(({ collation }) => collation))])
  const text = 'select name from jsonb_array_elements_text($1) name where to_regcollation(quote_ident(name)) is null'
  const { rows } = await session.query({ text, values: [names] })
  const unknown = new Set(rows.map(([name]) => name))
  const errors = fields
    .filter(({ collation }) => unknown.has(collation))
    .map(({ place, collation }) => `${place} has the collation ${collation}, which an empty database does not have`)
  if (errors.length > 0) throw new MigrationError(errors, HELP)
}

const HELP = [
  'Create the collation in a migration by hand (`create collation …`), or write `managed: false` in the model',
  'For a collation of the operating system, name an empty database whose server has it: --scratch URL, or DATABASE_SCRATCH_URL',
]
