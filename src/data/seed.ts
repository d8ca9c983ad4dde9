import type { AppSpec, FieldSpec, ModelSpec } from '../config/spec.js'
import { suggest } from '../config/words.js'
import type { Connection, Database } from '../db/database.js'
import { inDependencyOrder } from '../foundation/dependency-order.js'
import { analyzeTables } from '../db/records/analyze.js'
import { lacksPrivilege } from '../db/driver/errors.js'
import { deferForeignKeys } from '../db/records/deferral.js'
import { advanceSequences } from '../db/statements/key-sequences.js'
import { compileUpsert, readExistingTable } from '../db/statements/upsert.js'
import { batchesOf } from './batches.js'
import { errorsOfBatch, errorsOfRows, isAboutData, type SeededBatch } from './batch-errors.js'
import { readData } from './file.js'
import { readKey } from './key.js'
import { type DataError, UnreadableData } from './record.js'
import type { Section } from './tree.js'

/** What happened to the records of one resource. */
export interface SeedCounts {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
}

export interface Seeding {
  readonly spec: AppSpec
  readonly file: string
  /** The resource, for line-based files, which do not name it. */
  readonly resource?: string | undefined
  /** The fields that identify existing records, if the file does not name them. */
  readonly key?: readonly string[] | undefined
  /** Runs everything, then rolls back. */
  readonly dryRun: boolean
  /** Receives the bytes read and the records written, from time to time. */
  readonly onProgress: (bytes: number, records: number) => void
}

export interface Seeded {
  /** By the name in the file, in the file's order. */
  readonly resources: ReadonlyMap<string, SeedCounts>
  /** The first errors; if there are any, nothing is written. */
  readonly errors: readonly DataError[]
  /** The number of errors that were found. */
  readonly errorCount: number
}

const MAX_ERRORS = 100

/** Rolls back a successful transaction. */
class Undo extends Error {}

/** The database rejected a batch without naming the record. */
class RejectedBatch extends Error {
  readonly place: number
  /** Whether its records may refer to later ones. */
  readonly refersLater: boolean

  constructor({ place, refersLater }: Pick<RejectedBatch, 'place' | 'refersLater'>, cause: unknown) {
    super('a batch was rejected', { cause })
    this.place = place
    this.refersLater = refersLater
  }
}

/** How an attempt writes records: in order, with deferred foreign keys (`deferred`), or one by one from a batch on (`careful`). */
type Way = { readonly careful?: number; readonly deferred?: true }

/**
 * Loads a data file in one transaction, with validation: each record is added, updated if it differs, or left alone. If there are errors, nothing is
 * written. After a record that validation rejects, the database is not asked for further errors.
 * @throws UnreadableData for an invalid file, the error of the system if the file cannot be read, and Problem if the database fails
 */
export async function seed(database: Database, seeding: Seeding): Promise<Seeded> {
  try {
    return await attempt(database, seeding, {})
  } catch (error) {
    if (!(error instanceof RejectedBatch)) throw error
    const later = error.refersLater ? await attemptDeferred(database, seeding) : undefined
    return later ?? attempt(database, seeding, { careful: error.place })
  }
}

/** Returns undefined if deferring does not help either. */
async function attemptDeferred(database: Database, seeding: Seeding): Promise<Seeded | undefined> {
  try {
    return await attempt(database, seeding, { deferred: true })
  } catch (error) {
    // Deferring requires the privilege to alter the tables; without it, records must precede the records that refer to them.
    if (error instanceof RejectedBatch || isAboutData(error) || lacksPrivilege(error)) return undefined
    throw error
  }
}

async function attempt(database: Database, seeding: Seeding, way: Way): Promise<Seeded> {
  const run = createRun(seeding, way)
  try {
    await database.transaction(
      async (connection) => {
        await run.begin(connection)
        if (seeding.dryRun || run.result().errorCount > 0) throw new Undo()
      },
      { unlimited: true },
    )
  } catch (error) {
    if (!(error instanceof Undo)) throw error
    return run.result()
  }
  await analyzeTables(
    database,
    [...run.result().resources.keys()].map((name) => modelOf(seeding.spec, name)),
  )
  return run.result()
}

/** One attempt, from the start of the file. */
function createRun(seeding: Seeding, { careful, deferred }: Way) {
  const state = { bytes: 0, records: 0, batches: 0, errorCount: 0 }
  const resources = new Map<string, SeedCounts>()
  const errors: DataError[] = []
  const reject = (found: readonly DataError[]) => {
    state.errorCount += found.length
    errors.push(...found.slice(0, MAX_ERRORS - errors.length))
  }
  const result = (): Seeded => ({ resources, errors, errorCount: state.errorCount })
  const tell = () => seeding.onProgress(state.bytes, state.records)

  const begin = async (connection: Connection): Promise<void> => {
    // The transaction may be run again.
    Object.assign(state, { bytes: 0, records: 0, batches: 0, errorCount: 0 })
    resources.clear()
    errors.length = 0
    const sections = await readData({
      file: seeding.file,
      resource: seeding.resource,
      model: (name, line) => modelOf(seeding.spec, name, line),
      onBytes: (count) => {
        state.bytes += count
        tell()
      },
    })
    const planned = sections.map((section) => {
      const model = modelOf(seeding.spec, section.resource, section.line)
      return { ...section, model, key: readKey(model, section.key ?? seeding.key, section.line) }
    })
    for (const { resource } of planned) resources.set(resource, { created: 0, updated: 0, unchanged: 0 })
    const tables = planned.map(({ model }) => model.table)
    const deferral = deferred && (await deferForeignKeys(connection, tables))
    // The errors of a constraint that is initially deferred would come with the commit, for no record.
    if (!deferred) await connection.query({ text: 'set constraints all immediate', values: [] })
    for (const section of inOrder(planned)) await load(connection, section)
    await deferral?.settle()
  }

  const load = async (connection: Connection, { model, key, resource, records, line }: Planned): Promise<void> => {
    const table = await readExistingTable(connection, model, key)
    if (table.isView) throw new UnreadableData(line, `${model.name} is a view; records are seeded into tables`)
    let counts = resources.get(resource) ?? { created: 0, updated: 0, unchanged: 0 }
    for await (const batch of batchesOf(records(), { model, key, reject })) {
      const place = state.batches++
      const work = { connection, model, models: seeding.spec.models, key, table, batch }
      if (careful !== undefined && place >= careful) {
        const isRejected = place === careful && state.errorCount === 0
        if (state.errorCount < MAX_ERRORS)
          reject(await errorsOfBatch(work, { isRejected, shown: MAX_ERRORS - state.errorCount }))
        continue
      }
      // After an error, only further errors are collected.
      if (state.errorCount > 0) continue
      counts = add(counts, await write(work, place, reject))
      state.records += batch.rows.length
      tell()
    }
    resources.set(resource, counts)
    if (!seeding.dryRun && state.errorCount === 0) await moveSequences(connection, model, counts)
  }

  return { begin, result }
}

interface Planned extends Omit<Section, 'key'> {
  readonly model: ModelSpec
  readonly key: readonly FieldSpec[]
}

async function write(
  { connection, model, models, key, table, batch }: SeededBatch,
  place: number,
  reject: (errors: readonly DataError[]) => void,
): Promise<SeedCounts> {
  const { rows, fields, lines } = batch
  try {
    const written = await compileUpsert({ model, models, fields, key, ...table })(connection, rows)
    reject(errorsOfRows(written, lines))
    const { created, updated } = written
    return { created, updated, unchanged: rows.length - created - updated }
  } catch (error) {
    if (!isAboutData(error)) throw error
    throw new RejectedBatch({ place, refersLater: model.relations.length > 0 }, error)
  }
}

/** Advances the sequences of a model past its records. A file whose records all existed needs no privilege for it. */
async function moveSequences(connection: Connection, model: ModelSpec, { created }: SeedCounts): Promise<void> {
  await connection.query({ text: 'savepoint sequences', values: [] })
  try {
    await advanceSequences(connection, model)
  } catch (error) {
    if (created > 0 || !lacksPrivilege(error)) throw error
    await connection.query({ text: 'rollback to savepoint sequences', values: [] })
  }
}

function add(one: SeedCounts, other: SeedCounts): SeedCounts {
  return {
    created: one.created + other.created,
    updated: one.updated + other.updated,
    unchanged: one.unchanged + other.unchanged,
  }
}

/** Precedes the name of a model whose name the resource of another model has. */
const MODEL_PREFIX = 'model:'

/**
 * Finds the model of a resource, or a model, by name.
 * @throws UnreadableData for an unknown name
 */
export function modelOf({ resources, models, internal }: AppSpec, name: string, line = 1): ModelSpec {
  const modelNamed = (wanted: string) => models.find((model) => model.name === wanted)
  const found = name.startsWith(MODEL_PREFIX)
    ? modelNamed(name.slice(MODEL_PREFIX.length))
    : (resources.find((resource) => resource.name === name)?.model ?? modelNamed(name))
  if (found) return found
  const own = models.filter((model) => !internal.includes(model))
  const names = [...new Set([...resources, ...own].map((each) => each.name))]
  throw new UnreadableData(
    line,
    `no resource or model is named ${JSON.stringify(name)}; ${suggest(name, names, 'resource').join('; ')}`,
  )
}

/** Orders sections so that records come after the records they refer to; otherwise in the order of the file. */
function inOrder(sections: readonly Planned[]): readonly Planned[] {
  return inDependencyOrder(sections, ({ model: { relations } }) => {
    const targets = relations.map(({ target }) => target.model)
    return sections.filter(({ model }) => targets.includes(model.name))
  })
}
