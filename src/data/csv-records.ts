import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { type Cell, type Items, readCell, writeCell } from '../fields/cell.js'
import type { Typed } from '../fields/field-type.js'
import { readArray } from '../fields/spelling/array-text.js'
import type { CsvCell } from '../resource/lists/csv-row.js'
import { createCsvReader, type CsvRow } from './csv.js'
import { linesIn, readRecord } from './ndjson.js'
import { type EntryOrError, NOT_UTF8, UnreadableData } from './record.js'

/**
 * Reads the records of a CSV file, whose first row names the fields.
 * @throws UnreadableData for invalid CSV, and if the first row repeats a field
 */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>, model: ModelSpec): AsyncIterable<EntryOrError> {
  let header: readonly string[] | undefined
  for await (const row of csvRows(bytes)) {
    if (header === undefined) header = readHeader(row)
    else yield readRow(row, header, model)
  }
}

async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncIterable<CsvRow> {
  const reader = createCsvReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (work: () => string): string => {
    try {
      return work()
    } catch (error) {
      throw error instanceof TypeError ? new UnreadableData(reader.line(), NOT_UTF8) : error
    }
  }
  for await (const chunk of bytes)
    for (const line of linesIn(chunk))
      for (const row of reader.read(decode(() => decoder.decode(line, { stream: true })))) yield row
  yield* reader.read(decode(() => decoder.decode()))
  yield* reader.end()
}

function readHeader({ cells, line }: CsvRow): readonly string[] {
  const names = cells.map((cell) => cell ?? '')
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return names
  throw new UnreadableData(line, `the first row has ${JSON.stringify(twice)} twice; each field may be named only once`)
}

function readRow({ cells, line }: CsvRow, header: readonly string[], model: ModelSpec): EntryOrError {
  if (cells.length !== header.length)
    return {
      error: {
        line,
        message: `the row must have as many cells as the first row, ${header.length}; got ${cells.length}`,
      },
    }
  const fields = header.map((name) => model.fields.find((field) => field.name === name))
  const members: string[] = []
  for (const [index, name] of header.entries()) {
    const source = sourceOf(cells[index] ?? null, fields[index])
    if (source === undefined) {
      const field = fields[index]
      return { error: { line, field: name, message: `${field?.label ?? name} ${typeRule(field)}` } }
    }
    members.push(`${JSON.stringify(name)}:${source}`)
  }
  return readRecord(Buffer.from(`{${members.join(',')}}`), line)
}

/** Returns the JSON text for a cell; undefined if the cell is invalid for its field's type. */
function sourceOf(cell: CsvCell, field: FieldSpec | undefined): string | undefined {
  if (cell === null) return 'null'
  if (field === undefined || isText(field)) return JSON.stringify(cell)
  const item = field.type.items?.(field.options)
  try {
    const source = item && cell.endsWith('}') ? listSource(cell, item) : cell
    JSON.parse(source)
    return source
  } catch {
    return undefined
  }
}

/** Returns the JSON text for PostgreSQL's text form of a list, which `COPY` and older dumps write. */
function listSource(text: string, item: Typed): string {
  const itemSource = (cell: Cell): string =>
    isText(item) ? JSON.stringify(cell) : (writeCell(item, readCell(item, cell)) ?? 'null')
  const join = (items: Items<string>): string =>
    `[${items.map((each) => (typeof each === 'string' ? each : join(each))).join(',')}]`
  return join(readArray(text, itemSource))
}

/** Whether the values are JSON strings. */
function isText({ type, options }: Typed): boolean {
  return type.rules(options).some(({ schema }) => schema['type'] === 'string')
}

/** The message of the field's first rule, its type. */
function typeRule(field: FieldSpec | undefined): string {
  return field?.type.rules(field.options)[0]?.message ?? 'is not valid'
}
