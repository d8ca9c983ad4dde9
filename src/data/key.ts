import { isPlain, loneKey } from '../config/model-spec.js'
import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { suggest } from '../config/words.js'
import { UnreadableData } from './record.js'

/**
 * Returns the fields that identify existing records: the named ones, or the primary key.
 * @throws UnreadableData for an unknown name, for fields that are not unique, and for a model without a primary key if none are named
 */
export function readKey(model: ModelSpec, names: readonly string[] | undefined, line: number): readonly FieldSpec[] {
  if (names === undefined) {
    if (model.key.length > 0) return model.key
    const help = helpOf(model, 'name unique fields under `key` in the file, or by --key')
    throw new UnreadableData(line, `${model.name} has no primary key that identifies existing records; ${help}`)
  }
  const fields = names.map((name) => {
    const field = model.fields.find((each) => each.name === name)
    if (field) return field
    const known = suggest(
      name,
      model.fields.map((each) => each.name),
      'field',
    )
    throw new UnreadableData(
      line,
      `the key names ${JSON.stringify(name)}, which is not a field of ${model.name}; ${known.join('; ')}`,
    )
  })
  if (isUnique(model, fields)) return fields
  const help = helpOf(model, 'a key is one of')
  throw new UnreadableData(line, `several records may have the same ${names.join(', ')}; ${help}`)
}

/** The keys by which the records of a model can be found, after an introduction. */
function helpOf(model: ModelSpec, introduction: string): string {
  const keys = keysOf(model)
  if (keys.length === 0) return `${model.name} has no unique fields, so nothing can be seeded`
  return `${introduction}: ${keys.join(' | ')}`
}

function isUnique({ key, indexes }: ModelSpec, fields: readonly FieldSpec[]): boolean {
  const [first, ...more] = fields
  if (first?.unique && more.length === 0) return true
  if (key.length > 0 && key.length === fields.length && key.every((field) => fields.includes(field))) return true
  const columns = new Set(fields.map(({ column }) => column))
  return indexes.some(
    (index) =>
      index.unique &&
      isPlain(index) &&
      index.columns.length === columns.size &&
      index.columns.every((each) => columns.has(each)),
  )
}

function keysOf(model: ModelSpec): readonly string[] {
  const { key, fields, indexes } = model
  const nameOf = (column: string) => fields.find((field) => field.column === column)?.name ?? column
  return [
    ...(key.length > 0 ? [key.map(({ name }) => name).join(', ')] : []),
    ...fields.filter((field) => field.unique && field !== loneKey(model)).map(({ name }) => name),
    ...indexes.filter((index) => index.unique && isPlain(index)).map(({ columns }) => columns.map(nameOf).join(', ')),
  ]
}
