import { createRequire } from 'node:module'
import type { Knex } from 'knex'
import type { Model, ModelClass, ModelOptions, Pojo } from 'objection'
import type { FieldSpec, ModelRelation, ModelSpec } from '../../config/spec.js'
import { suggest } from '../../config/words.js'
import { relationsOf } from './relations.js'

/** Objection's classes of an application, by the names of their models. They are bound to one knex. */
export type ModelClasses = Readonly<Record<string, ModelClass<Model>>>

/** Binds the classes to the knex of a request. `admit` is called for each model before its first use. */
export type BindModels = (knex: () => Knex, admit: (model: ModelSpec) => void) => ModelClasses

/** Prepares the classes of an application. Objection is loaded at first use, because loading it takes longer than loading everything else. */
export function compileModels(specs: readonly ModelSpec[]): BindModels {
  let classes: ReadonlyMap<string, ModelClass<Model>> | undefined
  const byName = new Map(specs.map((spec) => [spec.name, spec]))
  return (knex, admit) => {
    const bound = (name: string): ModelClass<Model> => {
      const spec = byName.get(name) ?? unknownModel(name, [...byName.keys()])
      admit(spec)
      const found = (classes ??= defineModels(specs)).get(name)
      return found?.bindKnex(knex()) ?? unknownModel(name, [...byName.keys()])
    }
    return new Proxy<Record<string, ModelClass<Model>>>(Object.create(null) as Record<string, never>, {
      // Promises and inspectors read members of their own.
      get: (_target, name) =>
        typeof name === 'symbol' || name === 'then' || name === 'toJSON' ? undefined : bound(name),
      has: (_target, name) => byName.has(String(name)),
    })
  }
}

function unknownModel(name: string, known: readonly string[]): never {
  throw new Error(`no model is named \`${name}\`; ${suggest(name, known, 'model').join('; ')}`)
}

function defineModels(specs: readonly ModelSpec[]): ReadonlyMap<string, ModelClass<Model>> {
  const objection = createRequire(import.meta.url)('objection') as { readonly Model: typeof Model }
  const models = new Map<string, ModelClass<Model>>()

  const mappingOf = (table: string, { name, target, parts }: ModelRelation) => {
    const modelClass = models.get(target.model)
    // Objection splits names at dots.
    if (!modelClass || parts.some(({ field, to }) => /\./.test(field.column + to.column))) return []
    const join = {
      from: parts.map(({ field }) => `${table}.${field.column}`),
      to: parts.map(({ to }) => `${target.table}.${to.column}`),
    }
    return [[name, { relation: objection.Model.BelongsToOneRelation, modelClass, join }] as const]
  }

  const defineModel = (spec: ModelSpec): ModelClass<Model> => {
    const { name, table, key, fields } = spec
    const columns = fields.map(({ column }) => column)
    const jsons = fields.filter(isJson)
    const relations = relationsOf(spec)
    const defined = class extends objection.Model {
      static override tableName = table
      static override idColumn = key.map(({ column }) => column)
      // A transaction takes one statement at a time.
      static concurrency = 1
      // Called at first use, when all classes are there: models may refer to each other in circles.
      static override relationMappings = () =>
        Object.fromEntries(relations.flatMap((relation) => mappingOf(table, relation)))
      // Given here, so that Objection does not query the columns.
      static override tableMetadata = () => ({ columns })
      static override fetchTableMetadata = () => Promise.resolve({ columns })

      override $formatDatabaseJson(json: Pojo): Pojo {
        const formatted = super.$formatDatabaseJson(json)
        for (const field of jsons) formatted[field.column] = writeJson(field, formatted[field.column])
        return formatted
      }

      // The database has validated stored values, and `jsonSchema` is not used.
      override $validate(json?: Pojo, _options?: ModelOptions): Pojo {
        return json ?? this
      }
    }
    Object.defineProperty(defined, 'name', { value: name })
    return defined
  }

  for (const spec of specs) models.set(spec.name, defineModel(spec))
  return models
}

function isJson({ type, options }: FieldSpec): boolean {
  return type.column(options).startsWith('json')
}

/** The text of a JSON value: PostgreSQL would read an array as an array of its own. Expressions of a query stay unchanged. */
function writeJson({ type, options }: FieldSpec, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (typeof value === 'object' && ('toKnexRaw' in value || 'toSQL' in value)) return value
  return type.write(value, options)
}
