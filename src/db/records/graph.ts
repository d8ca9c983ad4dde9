import type { Knex } from 'knex'
import type { ModelSpec } from '../../config/spec.js'
import { suggest } from '../../config/words.js'
import { arrayLiteral, readCell } from '../../fields/cell.js'
import { remember } from '../../remember.js'
import type { Id, Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Connection } from '../database.js'
import { toReadFailure } from '../driver/errors.js'
import { knexOn, StatementFailed } from '../knex.js'
import { defineModels, FIELDS, type Models, relationKey, valueKey } from './models.js'

/**
 * The records with these ids, in their order, a missing one left out. The relations that are named, by dotted paths
 * between commas, hold the related record in place of its id. One statement, and one for each relation.
 * @throws Error naming the nearest relation when there is none of that name
 */
export type ReadGraph = (resource: Resource, ids: readonly Id[], relations: string) => Promise<readonly Row[]>

/** A model, and the relations to follow from it by the name of their field. */
interface Branch {
  readonly model: ModelSpec
  readonly relations: Map<string, Branch>
}

/** More would be more parameters than the protocol can count. */
const KEYS_IN_A_STATEMENT = 50_000

/**
 * Makes a share of its own of a table whose records are read with related ones. Those may be in tables that are locked, and others who
 * read the table alone do not wait for them.
 */
const WITH_RELATED = ' (with related records)'

/** Prepares the graphs of an application; each call of the result reads them on one connection. */
export function compileGraphs(specs: readonly ModelSpec[]): (connection: Connection) => ReadGraph {
  let models: Promise<Models> | undefined
  return (connection) => {
    let knexes: ((model: ModelSpec) => Knex) | undefined
    const knexFor = (model: ModelSpec): Knex =>
      (knexes ??= remember(({ table }) => knexOn(connection, `${table}${WITH_RELATED}`)))(model)

    return async ({ spec: { model } }, ids, relations) => {
      const branch = readRelations(relations, model, specs)
      const keys = ids.map((id) => canonicalKey(id, model))
      const wanted = keys.filter((key) => key !== undefined)
      if (wanted.length === 0) return []
      const records = (await (models ??= defineModels(specs))).get(model.name)
      if (!records) throw new Error(`the model \`${model.name}\` belongs to another application`)
      const query = records
        .query(knexFor(model))
        .modify(FIELDS)
        .whereRaw('?? = any(?)', [model.primaryKey.column, arrayLiteral(wanted)])
        .withGraphFetched(toExpression(branch), { maxBatchSize: KEYS_IN_A_STATEMENT })
      const found = (await query.catch(rethrow)).map((record) => toRow(record, branch))
      const byKey = new Map(found.map((row) => [canonicalKey(row[model.primaryKey.name], model), row]))
      return keys.map((key) => byKey.get(key)).filter((row) => row !== undefined)
    }
  }
}

function rethrow(error: unknown): never {
  throw error instanceof StatementFailed ? toReadFailure(error.cause) : error
}

/** The one text form of a key; undefined for what can be no key. */
function canonicalKey(id: unknown, { primaryKey: { type, options } }: ModelSpec): string | undefined {
  const value = type.parse(type.write(id, options), options)
  return value === undefined ? undefined : type.write(value, options)
}

function readRelations(relations: string, model: ModelSpec, models: readonly ModelSpec[]): Branch {
  const root: Branch = { model, relations: new Map() }
  const follow = (branch: Branch, name: string): Branch => {
    const known = branch.relations.get(name)
    if (known) return known
    const next: Branch = { model: findTarget(branch.model, name, models), relations: new Map() }
    branch.relations.set(name, next)
    return next
  }
  const paths = relations.trim() === '' ? [] : relations.split(',')
  for (const path of paths) path.trim().split('.').reduce(follow, root)
  return root
}

function findTarget({ name: owner, fields }: ModelSpec, name: string, models: readonly ModelSpec[]): ModelSpec {
  const target = fields.find((field) => field.name === name)?.target
  const found = models.find((model) => model.name === target?.model)
  if (found) return found
  const known = fields.filter((field) => field.target).map((field) => field.name)
  const help = suggest(name, known, 'relation').join('; ')
  throw new Error(`the model \`${owner}\` has no relation \`${name}\`; ${help}`)
}

interface Expression {
  readonly [relation: string]: Expression
}

function toExpression({ relations }: Branch): Expression {
  return Object.fromEntries([...relations].map(([name, next]) => [relationKey(name), toExpression(next)]))
}

/** `record` is objection's: cells under the keys of their fields, and records under those of their relations. */
function toRow(record: object, { model, relations }: Branch): Row {
  const held = new Map<string, unknown>(Object.entries(record))
  const valueOf = (field: ModelSpec['fields'][number], place: number): unknown => {
    const next = relations.get(field.name)
    if (!next) return readCell(field, held.get(valueKey(place)) as string | null)
    const related = held.get(relationKey(field.name))
    return related ? toRow(related, next) : null
  }
  return Object.fromEntries(model.fields.map((field, place) => [field.name, valueOf(field, place)]))
}
