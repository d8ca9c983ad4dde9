import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { writeCell } from '../fields/cell.js'
import { Problem } from '../foundation/problem.js'
import type { Row } from '../resource/plan.js'
import { compileRecord, type DataError, type EntryOrError, errorsAt } from './record.js'

/** Records with the same fields, which are written by one statement. */
export interface Batch {
  readonly fields: readonly FieldSpec[]
  readonly rows: readonly Row[]
  /** The lines of the records. */
  readonly lines: readonly number[]
}

const MAX_ROWS = 500
/** The maximum length of a batch, so that long records do not fill the memory. */
const MAX_TEXT_LENGTH = 2 ** 20

interface Checked {
  readonly model: ModelSpec
  readonly key: readonly FieldSpec[]
  readonly reject: (errors: readonly DataError[]) => void
}

/** Groups the valid records of a section into batches; passes the errors of others to `reject`. */
export async function* batchesOf(
  entries: AsyncIterable<EntryOrError>,
  { model, key, reject }: Checked,
): AsyncIterable<Batch> {
  const read = compileRecord(model)
  let batch = emptyBatch()
  for await (const entry of entries) {
    const record = 'error' in entry ? { errors: [entry.error] } : readEntry(entry, read, { model, key })
    if ('errors' in record) {
      reject(record.errors)
      continue
    }
    const { row, line } = record
    const shape = Object.keys(row).join()
    const id = key.map((field) => JSON.stringify(writeCell(field, row[field.name]))).join()
    const known = batch.ids.get(id)
    if (known !== undefined) {
      reject([{ line, message: `${namesOf(key)} is the same as in line ${known}; each record may appear only once` }])
      continue
    }
    if (
      batch.lines.length > 0 &&
      (shape !== batch.shape || batch.lines.length === MAX_ROWS || batch.length > MAX_TEXT_LENGTH)
    ) {
      yield finish(batch, model)
      batch = emptyBatch()
    }
    batch.shape = shape
    batch.ids.set(id, line)
    batch.rows.push(row)
    batch.lines.push(line)
    batch.length += record.length
  }
  if (batch.lines.length > 0) yield finish(batch, model)
}

function emptyBatch() {
  return { shape: '', ids: new Map<string, number>(), rows: [] as Row[], lines: [] as number[], length: 0 }
}

function finish({ rows, lines }: ReturnType<typeof emptyBatch>, { fields }: ModelSpec): Batch {
  const [first = {}] = rows
  return { fields: fields.filter(({ name }) => Object.hasOwn(first, name)), rows, lines }
}

type ReadEntry =
  | { readonly row: Row; readonly line: number; readonly length: number }
  | { readonly errors: readonly DataError[] }

function readEntry(
  { line, body }: Exclude<EntryOrError, { readonly error: DataError }>,
  read: ReturnType<typeof compileRecord>,
  { model, key }: Pick<Checked, 'model' | 'key'>,
): ReadEntry {
  try {
    const row = read(body)
    const errors = keyErrors(row, { model, key })
    if (errors.length > 0) return { errors: errorsAt(line, errors) }
    return { row, line, length: body.keys.reduce((sum, name) => sum + body.source(name).length, 0) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { errors: error.errors.length > 0 ? errorsAt(line, error.errors) : [{ line, message: error.message }] }
  }
}

/** Without its key, every run would add the record again. */
function keyErrors(row: Row, { model, key }: Pick<Checked, 'model' | 'key'>) {
  const missing = key.filter(({ name }) => row[name] == null)
  const assigned = model.key.filter((field) => field.assigned && !key.includes(field) && Object.hasOwn(row, field.name))
  return [
    ...missing.map((field) => ({
      field: field.name,
      message: `${field.label} identifies existing records and is required`,
    })),
    ...assigned.map(({ name, label }) => ({
      field: name,
      message: `${label} is set by the server when ${namesOf(key)} is the key; leave it out`,
    })),
  ]
}

function namesOf(key: readonly FieldSpec[]): string {
  return key.map(({ name }) => `\`${name}\``).join(', ')
}
