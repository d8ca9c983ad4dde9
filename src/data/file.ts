import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { ModelSpec } from '../config/spec.js'
import { csvRecords } from './csv-records.js'
import { readJsonTree } from './json-tree.js'
import { ndjsonRecords } from './ndjson.js'
import { type EntryOrError, UnreadableData } from './record.js'
import { readSections, type Section } from './tree.js'
import { readYamlTree } from './yaml-tree.js'

/** The inputs for reading a data file. */
export interface DataSource {
  /** The path; its extension determines the format. */
  readonly file: string
  /** The resource of the records, if the file does not name it. */
  readonly resource: string | undefined
  /** @throws UnreadableData for an unknown name */
  readonly model: (name: string, line: number) => ModelSpec
  /** Receives the number of additional bytes read. */
  readonly onBytes: (count: number) => void
}

/** A document is loaded into memory as a whole. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

type Reader = (source: DataSource) => Promise<readonly Section[]>

const READERS: Readonly<Record<string, Reader>> = {
  '.yaml': (source) => readDocument(source, (bytes) => readYamlTree(bytes, source.file)),
  '.yml': (source) => readDocument(source, (bytes) => readYamlTree(bytes, source.file)),
  '.json': (source) => readDocument(source, readJsonTree),
  '.ndjson': (source) => readStream(source, ndjsonRecords),
  '.jsonl': (source) => readStream(source, ndjsonRecords),
  '.csv': (source) => readStream(source, csvRecords),
}

/** The extensions of data files. */
export const DATA_FORMATS: readonly string[] = Object.keys(READERS)

/**
 * Reads the sections of a data file.
 * @throws UnreadableData for an invalid file, and the system's error if it cannot be read
 */
export async function readData(source: DataSource): Promise<readonly Section[]> {
  const reader = READERS[extname(source.file).toLowerCase()]
  if (reader) return reader(source)
  throw new UnreadableData(1, `the file name has no known extension; known formats are ${DATA_FORMATS.join(', ')}`)
}

async function readDocument(
  { file, onBytes }: DataSource,
  parse: (bytes: Uint8Array) => Parameters<typeof readSections>[0],
): Promise<readonly Section[]> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    if (size > MAX_DOCUMENT_BYTES)
      throw new UnreadableData(1, `the file has more than ${MAX_DOCUMENT_BYTES} bytes; NDJSON and CSV have no limit`)
    const bytes = await handle.readFile()
    onBytes(bytes.length)
    return readSections(parse(bytes))
  } finally {
    await handle.close()
  }
}

async function readStream(
  { file, resource, model, onBytes }: DataSource,
  parse: (bytes: AsyncIterable<Uint8Array>, model: ModelSpec) => AsyncIterable<EntryOrError>,
): Promise<readonly Section[]> {
  const name = resource ?? basename(file).replace(/\..*$/, '')
  const found = model(name, 1)
  // Opened here, so that a missing file is reported before the database is opened.
  await (await open(file)).close()
  return [{ line: 1, resource: name, key: undefined, records: () => parse(countBytes(file, onBytes), found) }]
}

async function* countBytes(file: string, onBytes: (count: number) => void): AsyncIterable<Uint8Array> {
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    onBytes(chunk.length)
    yield chunk
  }
}
