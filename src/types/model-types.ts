import { type FieldSpec, isWritable, type ModelSpec } from '../config/spec.js'
import { relationsOf } from '../db/queries/relations.js'
import { isOptional } from '../resource/field-schema.js'
import { toPascal } from '../resource/names.js'
import {
  type Member,
  formatComment,
  formatGiven,
  formatNames,
  formatObject,
  formatRules,
  formatValue,
} from './spelling.js'

/** The values of a new record, all optional, except those of its key. */
function formatChange(insert: string, settable: readonly FieldSpec[]): string {
  const key = settable.filter((field) => field.primaryKey).map(({ name }) => name)
  return key.length === 0 ? `Partial<${insert}>` : `Partial<Omit<${insert}, ${formatNames(key)}>>`
}

/** The names of a model's types. */
export interface ModelNames {
  readonly record: string
  readonly insert: string
  readonly change: string
  readonly create: string
  readonly update: string
  readonly patch: string
  readonly row: string
}

/** `Book`, `BookInsert`, `BookChange`, `BookCreate`, `BookUpdate`, `BookPatch`, `BookRow`, unless another type has such a name. */
export function nameModel({ name }: ModelSpec, unique: (wanted: string) => string): ModelNames {
  const record = unique(toPascal(name))
  const named = (suffix: string) => unique(record + suffix)
  return {
    record,
    insert: named('Insert'),
    change: named('Change'),
    create: named('Create'),
    update: named('Update'),
    patch: named('Patch'),
    row: named('Row'),
  }
}

/** The types of a model's records, and all types derived from their fields. */
export function modelTypes({ name, fields }: ModelSpec, names: ModelNames): readonly string[] {
  const settable = fields.filter((field) => !field.assigned)
  const writable = fields.filter(isWritable)
  const record = fields.map((field) => ({ ...member(field), about: formatRules(field) }))
  const insert = settable.map((field) => ({
    ...member(field),
    type: formatGiven(field),
    optional: mayBeLeftOut(field),
  }))
  const create = writable.map((field) => ({ ...member(field), optional: mayBeLeftOut(field) }))
  return [
    declare(`A record of \`${name}\`, as handlers see it.`, names.record, formatObject(record)),
    declare(`What \`store.create\` takes: a new record of \`${name}\`.`, names.insert, formatObject(insert)),
    declare('What `store.update` takes, and hooks return.', names.change, formatChange(names.insert, settable)),
    declare('The body of POST, as `parseBody` reads it.', names.create, formatObject(create)),
    declare(
      'The body of PUT.',
      names.update,
      formatObject(writable.map((field) => ({ ...member(field), optional: field.primaryKey }))),
    ),
    declare('The body of PATCH.', names.patch, `Partial<${names.update}>`),
  ]
}

/**
 * The rows of a model, as knex and the classes of `context.models` return them: columns by their own names, and related rows.
 * @param rowOf the type of the rows of another model
 */
export function rowType(model: ModelSpec, { row }: ModelNames, rowOf: (model: string) => string | undefined): string {
  const columns = model.fields.map((field) => ({ name: field.column, type: formatValue(field) }))
  const relations = relationsOf(model).flatMap(({ name, target }): readonly Member[] => {
    const related = rowOf(target.model)
    return related === undefined ? [] : [{ name, type: `${related} | null`, optional: true }]
  })
  const about = formatComment(`A row of \`${model.table}\`, as \`context.knex\` and \`context.models\` have it.`)
  return `${about}\nexport interface ${row} ${formatObject([...columns, ...relations])}\n`
}

/** An exported type with its comment. */
export function declare(about: string, name: string, type: string): string {
  return `${formatComment(about)}\nexport type ${name} = ${type}\n`
}

function member(field: FieldSpec): Member {
  return { name: field.name, type: formatValue(field) }
}

function mayBeLeftOut(field: FieldSpec): boolean {
  return isOptional(field) || field.auto !== undefined
}
