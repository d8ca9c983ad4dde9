import type { ModelSpec } from '../config/spec.js'
import type { Database } from '../db/database.js'
import { dumpRecords, type DumpForm } from '../db/records/dump.js'
import { writeCsvRow } from '../resource/lists/csv-row.js'

interface DumpFormat {
  readonly form: DumpForm
  readonly header: (model: ModelSpec) => string
  readonly row: (cells: readonly (string | null)[]) => string
}

const FORMATS = {
  ndjson: { form: 'document', header: () => '', row: ([document]) => `${document}\n` },
  csv: { form: 'cells', header: ({ fields }) => writeCsvRow(fields.map(({ name }) => name)), row: writeCsvRow },
} as const satisfies Record<string, DumpFormat>

export type DumpFormatName = keyof typeof FORMATS
export const DUMP_FORMATS = Object.keys(FORMATS) as readonly DumpFormatName[]

interface Dumping {
  readonly model: ModelSpec
  readonly format: DumpFormatName
  /** Writes a piece of text; the dump waits for it. */
  readonly write: (text: string) => Promise<void>
  /** Called with the number of records so far, and of all. Without it, records are not counted before. */
  readonly onProgress?: ((records: number, total: number) => void) | undefined
}

/**
 * Writes every record of a model, in primary-key order and as of one snapshot, in a format that `seed` can read.
 * @returns the number of records
 * @throws the errors of `write`, and a Problem if the database fails
 */
export async function dump(database: Database, { model, format, write, onProgress }: Dumping): Promise<number> {
  const { form, header, row } = FORMATS[format]
  let records = 0
  await write(header(model))
  await dumpRecords(database, { model, form, isCounted: onProgress !== undefined }, async (rows, total) => {
    records += rows.length
    onProgress?.(records, total)
    await write(rows.map(row).join(''))
  })
  return records
}
