import type { FieldSpec, GrantSpec, ModelSpec, Rule, SetSpec, UserSpec } from '../config/spec.js'
import type { Database } from '../db/database.js'
import { comparedColumn } from '../fields/compared-column.js'
import { identifier } from '../fields/sql-literal.js'
import { tableSql } from '../fields/table-name.js'
import type { StoredRecord } from '../access/decide/evaluate.js'
import { type AccessRequest, grantsOf, type Situation } from '../access/decide/situation.js'

/** The maximum number of records of a set that are read for one value. */
const MAX_MEMBERS = 1000

type Records = Map<string, StoredRecord[]>

/**
 * Reads the records on which the decision of a request depends: the requested record, the records that its rules lead to, and records of sets that have
 * the values of either. Reads nothing else, however large the tables are. A table whose sets have too many records is left out.
 */
export async function readForDecision(
  situation: Omit<Situation, 'known'>,
  request: AccessRequest,
  database: Database,
): Promise<ReadonlyMap<string, readonly StoredRecord[]>> {
  const { spec, resource, caller } = situation
  const { model } = resource
  const found: Records = new Map(spec.models.map(({ table }) => [table, []]))
  const incomplete = new Set<string>()
  const reader = readerOf(database, found)
  const id = request.id ?? []
  const [stored] =
    id.length > 0
      ? await reader(model, Object.fromEntries(model.key.map(({ name }, at) => [name, id[at] ?? ''])), 1)
      : []
  const grants = [request.operation, 'retrieve', 'list'].flatMap((name) => grantsOf(resource, name, caller))
  const others = (resource.access ?? []).filter(({ may }) => may.includes(request.operation))
  const starts = [stored, { ...stored, ...request.body, ...literalPresets(grants) }].filter(
    (each) => each !== undefined,
  )

  /** Reads what a rule needs for one record. */
  const follow = async (rule: Rule | undefined, start: StoredRecord): Promise<void> => {
    for (const { relations, field, value } of rule?.flat() ?? []) {
      let record: StoredRecord | undefined = start
      for (const { field: relation, target } of relations) {
        const reference: string | null | undefined = record?.[relation.name]
        const owner = spec.models.find(({ table }) => table === target.table)
        record = reference == null || !owner ? undefined : (await reader(owner, { [target.field]: reference }, 1))[0]
      }
      const end = record?.[field.name]
      if ('user' in value) await keyOfCaller(value.user)
      if (!('set' in value) || end == null) continue
      for (const member of await membersOf(value.set, end)) await follow(value.set.rows, member)
    }
  }

  const keyOfCaller = async ({ model, match, key }: UserSpec): Promise<string | undefined> => {
    const subject = caller?.subject
    if (subject === undefined || match.type.parse(subject, match.options) === undefined) return undefined
    const [user] = await reader(model, { [match.name]: subject }, 1)
    return user?.[key.name] ?? undefined
  }

  /** Reads the records of a set that have a value, only those of the caller where its rules compare with the caller. */
  const membersOf = async ({ model, field, rows }: SetSpec, text: string): Promise<readonly StoredRecord[]> => {
    const members: StoredRecord[] = []
    for (const conditions of rows) {
      const by: Record<string, string> = {}
      for (const { relations, field: compared, lookup, value } of conditions) {
        if (relations.length > 0 || lookup.name !== 'exact') continue
        const wanted =
          'subject' in value ? caller?.subject : 'user' in value ? await keyOfCaller(value.user) : undefined
        if (wanted !== undefined && compared.type.parse(wanted, compared.options) !== undefined)
          by[compared.name] = wanted
      }
      const some = await reader(model, { ...by, [field.name]: text }, MAX_MEMBERS)
      if (some.length === MAX_MEMBERS) incomplete.add(model.table)
      members.push(...some)
    }
    return members
  }

  for (const start of starts) {
    for (const rule of [...grants, ...others].flatMap(({ rows, becomes }) => [rows, becomes])) await follow(rule, start)
    for (const { target, parts } of model.relations) {
      const owner = spec.models.find(({ name }) => name === target.model)
      const by = valuesOf(
        start,
        parts.map(({ field, to }) => [field, to.name] as const),
      )
      if (owner === undefined || by === undefined) continue
      for (const related of await reader(owner, by, 1))
        for (const each of spec.resources.filter((one) => one.model === owner))
          for (const { rows } of grantsOf(each, 'retrieve', caller)) await follow(rows, related)
    }
  }
  // Another record may have the key of a new one.
  if (request.operation === 'create' && model.key.length > 0) {
    const names = model.key.map((field) => [field, field.name] as const)
    const key = valuesOf(request.body ?? {}, names)
    if (key) await reader(model, key, 1)
  }
  // A record that was not read may decide.
  for (const table of incomplete) found.delete(table)
  return found
}

/** The values of some fields, by other names; undefined if a field has none, or one that it cannot have. */
function valuesOf(
  record: StoredRecord,
  fields: readonly (readonly [field: FieldSpec, name: string])[],
): Readonly<Record<string, string>> | undefined {
  const entries = fields.flatMap(([{ name, type, options }, other]) => {
    const text = record[name]
    return text != null && type.parse(text, options) !== undefined ? [[other, text] as const] : []
  })
  return entries.length < fields.length ? undefined : Object.fromEntries(entries)
}

function literalPresets(grants: readonly GrantSpec[]): StoredRecord {
  return Object.fromEntries(
    grants.flatMap(({ set }) =>
      set.flatMap(({ field, value }) =>
        'literal' in value && value.literal != null
          ? [[field.name, field.type.write(value.literal, field.options)]]
          : [],
      ),
    ),
  )
}

/** Reads records by the values of some fields, and keeps each once. */
function readerOf(database: Database, found: Records) {
  const reads = new Map<string, Promise<readonly StoredRecord[]>>()

  const read = async ({ table, fields, key }: ModelSpec, by: Readonly<Record<string, string>>, most: number) => {
    const columns = fields.map(({ column }) => `${identifier(column)}::text`).join(', ')
    const names = Object.keys(by)
    const where = names.map((name, at) => {
      const field = fields.find((each) => each.name === name)
      return `${field ? comparedColumn(field) : identifier(name)} = $${at + 1}`
    })
    const text = `select ${columns} from ${tableSql(table)} where ${where.join(' and ')} limit ${most}`
    const { rows } = await database.query({ text, values: Object.values(by) })
    const records = rows.map(
      (cells): StoredRecord => Object.fromEntries(fields.map(({ name }, at) => [name, cells[at] ?? null])),
    )
    const kept = found.get(table) ?? []
    const identity = (record: StoredRecord) =>
      JSON.stringify((key.length > 0 ? key : fields).map(({ name }) => record[name]))
    const old = new Set(kept.map(identity))
    found.set(table, [...kept, ...records.filter((each) => !old.has(identity(each)))])
    return records
  }

  return (model: ModelSpec, by: Readonly<Record<string, string>>, most: number): Promise<readonly StoredRecord[]> => {
    const key = JSON.stringify([model.table, by])
    const known = reads.get(key) ?? read(model, by, most)
    reads.set(key, known)
    return known
  }
}
