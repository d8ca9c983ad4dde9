import type { AppSpec } from '../../config/spec.js'
import { nearest } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { routineOf } from '../../db/driver/meanings.js'
import type { Typed } from '../../fields/field-type.js'
import { OPAQUE_TYPES } from '../../fields/types/opaque.js'
import type { RelationOptions } from '../../fields/types/relation.js'
import type { Catalog } from '../introspect/catalog/catalog.js'
import { findLacks } from '../drift/verify.js'
import { MigrationError } from '../files/error.js'
import type { Migration } from '../files/files.js'
import { build, runAll, TO } from '../run/scratch.js'
import { sqlState } from '../run/session.js'
import { createAll, usedTables, type WantedTable } from './sql.js'
import { type CatalogView, createViews, readViews, wantedViews } from './views.js'
import { collationsIn, prepareCollations } from './wanted-collations.js'

/** The error for an unknown type, and for a type without an operator class for a kind of index. */
const UNDEFINED_OBJECT = '42704'

interface Wanted {
  readonly wanted: readonly WantedTable[]
  readonly files: readonly Migration[]
}

/** The tables and views of a configuration, as PostgreSQL describes them. */
export interface WantedSchema {
  readonly to: Catalog
  readonly toViews: readonly CatalogView[]
}

/** Everything that determines the schema of a configuration and the errors about its views. */
export function inputsOfWanted(spec: AppSpec, { wanted, files }: Wanted): unknown {
  const extensions = files.flatMap((file) => file.extensions)
  return [
    'wanted',
    createAll(wanted),
    wantedViews(spec),
    modelsOfViews(spec),
    fieldsOfViews(spec),
    collationsIn(files),
    extensions,
  ]
}

/** The fields of models that are views, whose types decide which columns fit. */
function fieldsOfViews({ models }: AppSpec): unknown {
  return models
    .filter(({ view }) => view !== undefined)
    .map(({ fields }) => fields.map((field) => [field.name, inputsOfType(field)]))
}

/** A relation has the type of the field that it refers to among its options. */
function inputsOfType({ type, options }: Typed): unknown {
  const { key, ...others } = options as Partial<RelationOptions>
  return [type.name, others, ...(key ? [inputsOfType(key)] : [])]
}

/** The tables of models that are views. */
function modelsOfViews(spec: AppSpec): readonly WantedTable[] {
  const views = new Set(wantedViews(spec).map(({ name }) => name))
  return usedTables(spec).filter(({ name }) => views.has(name))
}

/**
 * Creates the schema of a configuration.
 * @throws MigrationError for an unknown collation, and for a view whose query is wrong or that lacks a column of its model
 */
export async function buildWanted(
  session: Connection,
  spec: AppSpec,
  { wanted, files }: Wanted,
): Promise<WantedSchema> {
  const views = wantedViews(spec)
  const to = await build(session, TO, async () => {
    await prepareCollations(session, wanted, files)
    await runAll(session, createAll(wanted)).catch((error: unknown) => {
      throw sqlState(error) === UNDEFINED_OBJECT ? unusableType(error as Error, wanted) : error
    })
    await createViews(session, views)
  })
  const lacks = await findLacks(modelsOfViews(spec), session, TO)
  if (lacks.length > 0)
    throw new MigrationError(
      lacks.map(({ text }) => text),
      ['the columns of a view are the fields of its model: `select author_id, count(*) as books …`'],
    )
  return { to, toViews: await readViews(session, TO) }
}

/** Names the fields whose `column_type` the server rejects. */
function unusableType(error: Error, wanted: readonly WantedTable[]): MigrationError {
  // The language of messages varies.
  const isUnknown = routineOf(error) === 'typenameType'
  const found = wanted.flatMap(({ model, columns, constraints, indexes }) => {
    const indexed = [...constraints, ...indexes].flatMap((each) => each.columns)
    return columns
      .filter(({ name, type }) => namesType(error.message, type) && (isUnknown || indexed.includes(name)))
      .map(({ field, type }) => ({ shown: `\`${model}.${field}\``, type }))
  })
  if (found.length === 0) return new MigrationError([error.message], [], error)
  const repair = isUnknown ? 'correct the `column_type` of' : 'remove the index or the unique rule of'
  const near = isUnknown ? nearest(nameOfType(found[0]?.type ?? ''), OPAQUE_TYPES) : undefined
  const help = [
    `${repair} ${found.map(({ shown }) => shown).join(', ')}`,
    ...(near === undefined ? [] : [`a type of PostgreSQL has a similar name: \`${near}\``]),
  ]
  return new MigrationError([error.message], help, error)
}

function nameOfType(type: string): string {
  return (type.split('(')[0] ?? '').trim()
}

/** Whether an error names a type, which it prints without its length, in lower case, and between the quotes of its language. */
function namesType(message: string, type: string): boolean {
  return wordsOf(message).includes(wordsOf(nameOfType(type)))
}

function wordsOf(text: string): string {
  return ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_.]+/gu, ' ')
    .trim()} `
}
