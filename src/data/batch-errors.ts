import type { FieldSpec, ModelSpec } from '../config/spec.js'
import type { Connection } from '../db/database.js'
import { compileUpsert, type ExistingTable, type Upserted } from '../db/statements/upsert.js'
import { Problem, type ProblemType } from '../foundation/problem.js'
import type { Batch } from './batches.js'
import { findHolder, keyTexts } from './holder.js'
import { misfitsOf } from './misfits.js'
import { type DataError, errorsAt } from './record.js'

export interface SeededBatch {
  readonly connection: Connection
  readonly model: ModelSpec
  readonly models: readonly ModelSpec[]
  readonly key: readonly FieldSpec[]
  readonly table: ExistingTable
  readonly batch: Batch
}

/** Problems that a policy (`forbidden`), a constraint or a trigger of the database reports about a record. */
const ABOUT_DATA: ReadonlySet<ProblemType> = new Set(['forbidden', 'conflict', 'validation'])

export function isAboutData(error: unknown): error is Problem {
  return error instanceof Problem && ABOUT_DATA.has(error.type)
}

const REPEATED =
  'this record appears in the file twice, or a trigger of an earlier one has written it; each record may appear only once'
const CONFLICTING = 'this record conflicts with an earlier record of the file'
const ORDER =
  'put that line first, or, if the two exchange their values, give one of them a third value first, in a file of its own'
const SKIPPED = 'the database did not store this record: a trigger or a rule has skipped it, or a policy hides it'

export function errorsOfRows({ repeated, skipped }: Upserted, lines: readonly number[]): readonly DataError[] {
  const errorAt = (message: string) => (index: number) => ({ line: lines[index] ?? 0, message })
  return repeated === undefined ? skipped.map(errorAt(SKIPPED)) : [errorAt(REPEATED)(repeated)]
}

interface Reporting {
  /** Whether the database has rejected the batch as a whole; then there is at least one error. */
  readonly isRejected: boolean
  /** How many of the errors are shown. Those name the record that has a unique value. */
  readonly shown: number
}

/** Finds the errors of the database for each record of a batch. */
export async function errorsOfBatch(
  work: SeededBatch,
  { isRejected, shown }: Reporting,
): Promise<readonly DataError[]> {
  const { connection, batch } = work
  await connection.query({ text: 'savepoint batch', values: [] })
  const found = await errorsOfEach(work, shown)
  if (found.length > 0 || !isRejected) return found
  await connection.query({ text: 'rollback to savepoint batch', values: [] })
  const place = await firstConflicting(work)
  return [{ line: batch.lines[place] ?? 0, message: CONFLICTING }]
}

async function errorsOfEach(work: SeededBatch, shown: number): Promise<readonly DataError[]> {
  const { model, models, key, table, batch, connection } = work
  const upsert = compileUpsert({ model, models, fields: batch.fields, key, ...table })
  const found: DataError[] = []
  for (const [index, row] of batch.rows.entries()) {
    const line = batch.lines[index] ?? 0
    await connection.query({ text: 'savepoint record', values: [] })
    try {
      found.push(...errorsOfRows(await upsert(connection, [row]), [line]))
      await connection.query({ text: 'release savepoint record', values: [] })
    } catch (error) {
      if (!isAboutData(error)) throw error
      await connection.query({ text: 'rollback to savepoint record', values: [] })
      const { message } = error
      const isShown = found.length < shown
      const isUnnamed = isShown && error.type === 'validation' && error.errors.length === 0
      const errors = isUnnamed ? await misfitsOf(work, row) : error.errors
      const holder = isShown ? await describeHolder(work, index, error) : ''
      const described = errors.map((each) => ({ ...each, message: `${each.message}${holder}` }))
      found.push(...(errors.length > 0 ? errorsAt(line, described) : [{ line, message: `${message}${holder}` }]))
    }
  }
  return found
}

/** Finds the first record that the database rejects together with those before it, none of which it rejects alone. */
async function firstConflicting({ connection, model, models, key, table, batch }: SeededBatch): Promise<number> {
  const upsert = compileUpsert({ model, models, fields: batch.fields, key, ...table })
  let [accepted, rejected] = [1, batch.rows.length]
  while (rejected - accepted > 1) {
    const middle = Math.floor((accepted + rejected) / 2)
    const isAccepted = await upsert(connection, batch.rows.slice(0, middle)).then(
      () => true,
      (error: unknown) => {
        if (isAboutData(error)) return false
        throw error
      },
    )
    await connection.query({ text: 'rollback to savepoint batch', values: [] })
    if (isAccepted) accepted = middle
    else rejected = middle
  }
  return rejected - 1
}

/** Names the record that has the unique value of a rejected one, with its line if the batch has it; empty if it is not known. */
async function describeHolder(work: SeededBatch, index: number, error: Problem): Promise<string> {
  const { key, batch } = work
  const holder = await findHolder(work, batch.rows[index] ?? {}, error)
  if (!holder) return ''
  const place = batch.rows.findIndex((row) => keyTexts(key, row).every((text, at) => text === holder[at]))
  const names = key.map(({ name }, at) => `${name} ${holder[at]}`).join(', ')
  if (place < 0) return ` (${names})`
  const where = ` (${names}, line ${batch.lines[place]})`
  return place < index ? where : `${where}; ${ORDER}`
}
