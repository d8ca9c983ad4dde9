import {
  type AppSpec,
  type GrantSpec,
  isShown,
  isToAll,
  isWritable,
  type ModelRelation,
  type ModelSpec,
  OPERATIONS,
  type ResourceSpec,
  type Rule,
} from '../config/spec.js'
import { ungrantedCascades } from '../config/parse/access-effects.js'
import { conjunctionsOf, implies, type SameVariable } from './implies.js'
import { grantableFields, grantPath } from './matrix.js'
import { formatFields, formatRule, formatValue } from './format.js'
import { changedVariables, sameVariables } from './same-variables.js'
import { widenedAuth, widenedMounts } from './wider-auth.js'
import type { Configured, Widened } from './widened.js'

/**
 * Finds where access has become wider. A grant is as narrow as before if each combination of its conditions implies one of an old grant of the same
 * operation, to as many callers and with as many fields; what cannot be proved narrower is wider.
 */
export function findWidened(before: Configured, after: Configured): readonly Widened[] {
  if (after.spec.auth === undefined)
    return before.spec.auth === undefined
      ? []
      : [
          {
            what: 'auth',
            now: 'there is no `auth`: everybody may do everything',
            path: [],
            before: [{ text: 'auth', path: ['auth'] }],
          },
        ]
  if (before.spec.auth === undefined) return []
  const same = sameVariables(before, after)
  return [
    ...widenedAuth(before, after),
    ...widenedMounts(before, after),
    ...widenedViews(before.spec, after.spec),
    ...widenedCascades(before.spec, after.spec),
    ...after.spec.resources.flatMap((resource) => {
      const old = before.spec.resources.find(
        ({ name, model }) => name === resource.name && model.table === resource.model.table,
      )
      return widenedGrants(old, resource, same)
    }),
  ]
}

interface Use {
  readonly operation: string
  readonly to: string
}

function widenedGrants(old: ResourceSpec | undefined, resource: ResourceSpec, same: SameVariable): readonly Widened[] {
  const grants = resource.access ?? []
  return grants.flatMap((grant, index) => {
    const widened = grant.may.filter(
      (operation) => !isCovered(used(resource, grant, operation, old), { operation, to: grant.to }, old, same),
    )
    return widened
      .filter((operation) => operation !== 'all' || widened.length === 1)
      .map((operation): Widened => {
        const others = (old?.access ?? []).flatMap((each, at) =>
          old && isToAll(each.to, grant.to) && allows(each, operation)
            ? [{ text: formatGrant(old, each), path: grantPath(old, at) }]
            : [],
        )
        const unnamed = old && others.length > 0 ? addedFields(resource, grant, old) : []
        const unlike = changedVariables(grant, old?.access ?? [], same)
        return {
          what: `${resource.name}.${operation}:${grant.to}`,
          now: [formatGrant(resource, grant), ...movedFields(resource, grant, old), ...unnamed, ...unlike].join('; '),
          path: grantPath(resource, index),
          before: others,
        }
      })
  })
}

/** Reports grants to destroy that a new `on_delete: cascade` extends to records that their callers may not destroy. */
function widenedCascades(before: AppSpec, after: AppSpec): readonly Widened[] {
  // Nobody could delete a record of a table that did not exist.
  const isNew = ({ table }: ModelSpec, { name }: ModelRelation) => {
    const old = before.models.find((model) => model.table === table)
    const isOld = old?.relations.some((each) => each.name === name && each.target.onDelete === 'cascade')
    return isOld === false
  }
  return after.resources.flatMap((resource) =>
    (resource.access ?? []).flatMap((grant, index) => {
      const old = ungrantedCascades(after, resource.model, grant, (from, relation) => !isNew(from, relation))
      const known = new Set(old.flatMap(({ relations }) => relations))
      return ungrantedCascades(after, resource.model, grant).flatMap(({ from, relations }) =>
        relations
          .filter((relation) => !known.has(relation))
          .map(({ name }) => ({
            what: `${resource.name}.destroy:${grant.to}`,
            now: `to ${grant.to}; destroy also deletes ${from.name} records, because \`${name}\` has \`on_delete: cascade\``,
            path: grantPath(resource, index),
            before: [],
          })),
      )
    }),
  )
}

/** Reports views whose query has changed: only the database could tell whether it returns fewer rows and values. */
function widenedViews(before: AppSpec, after: AppSpec): readonly Widened[] {
  return after.models.flatMap(({ name, table, view }) => {
    const old = before.models.find((model) => model.table === table)
    if (old === undefined || old.view?.trim() === view?.trim()) return []
    return [
      {
        what: `models.${name}.view`,
        now: inOneLine(view) || 'a table',
        path: view === undefined ? ['models', name] : ['models', name, 'view'],
        before: [
          {
            text: inOneLine(old.view) || 'a table',
            path: old.view === undefined ? ['models', old.name] : ['models', old.name, 'view'],
          },
        ],
      },
    ]
  })
}

/** A query in one line. */
function inOneLine(query = ''): string {
  return query.trim().replaceAll(/\s+/g, ' ')
}

/** A grant, with columns instead of the fields that an operation reads or writes, because the same name may mean another field in the other file. */
interface Used extends Omit<GrantSpec, 'fields' | 'set'> {
  readonly columns: readonly string[]
  readonly set: readonly (GrantSpec['set'][number] & { readonly column: string })[]
}

function used(resource: ResourceSpec, grant: GrantSpec, operation: string, old?: ResourceSpec): Used {
  const isUsed = isRead(operation) ? isShown : isWritable
  const unused = new Set(resource.model.fields.filter((field) => !isUsed(field)).map(({ name }) => name))
  return {
    ...grant,
    columns: grant.fields.filter((name) => !unused.has(name)).map((name) => columnOf(resource, name, old)),
    set: grant.set.map((each) => ({ ...each, column: columnOf(resource, each.field.name, old) })),
  }
}

/** The column of a field, in an older configuration if it has been renamed since. Computed fields have no column. */
function columnOf({ model }: ResourceSpec, name: string, old: ResourceSpec | undefined): string {
  const field = model.fields.find((each) => each.name === name)
  if (field === undefined) return `computed ${name}`
  const former = old?.model.fields.find((each) => each.name === field.renamedFrom)
  return (former ?? field).column
}

/** The fields of a grant that had another column, in words. */
function movedFields(resource: ResourceSpec, { fields }: GrantSpec, old: ResourceSpec | undefined): readonly string[] {
  return fields.flatMap((name) => {
    const before = old?.model.fields.find((each) => each.name === name)
    const column = columnOf(resource, name, old)
    return before === undefined || before.column === column ? [] : [`${name} has the column ${column}`]
  })
}

/** The fields of a grant to all fields, or to all but some, that the old model does not have. */
function addedFields(resource: ResourceSpec, { fields }: GrantSpec, old: ResourceSpec): readonly string[] {
  if (!formatFields(fields, grantableFields(resource)).startsWith('all')) return []
  const columns = new Set(old.model.fields.map(({ column }) => column))
  const isNew = (name: string) => !grantableFields(old).includes(name) && !columns.has(columnOf(resource, name, old))
  return fields.filter(isNew).map((name) => `${name} is new`)
}

function isRead(operation: string): boolean {
  return operation === 'list' || operation === 'retrieve'
}

/** Whether the grants of an old resource allow all that a new one does. */
function isCovered(grant: Used, { operation, to }: Use, old: ResourceSpec | undefined, same: SameVariable): boolean {
  const candidates = (old?.access ?? []).flatMap((each) =>
    old && isToAll(each.to, to) && allows(each, operation) ? [used(old, each, operation)] : [],
  )
  if (isRead(operation))
    // A record has the fields of all grants that cover it.
    return conjunctionsOf(grant.rows).every((all) => {
      const covering = candidates.filter(({ rows }) =>
        conjunctionsOf(rows).some((wanted) => implies(all, wanted, same)),
      )
      return (
        covering.length > 0 && grant.columns.every((name) => covering.some(({ columns }) => columns.includes(name)))
      )
    })
  const isChange = operation === 'update' || operation === 'partial_update'
  const isWrite = isChange || operation === 'create'
  const becomes: Rule | undefined = isChange ? grant.becomes : undefined
  // A write needs one grant for all of it.
  return conjunctionsOf(grant.rows).every((start) =>
    conjunctionsOf(becomes).every((end) =>
      candidates.some(
        (each) =>
          (!isWrite || (grant.columns.every((name) => each.columns.includes(name)) && setsAsMuch(grant, each, same))) &&
          conjunctionsOf(each.rows).some((wanted) => implies(start, wanted, same)) &&
          (!isChange || conjunctionsOf(each.becomes).some((wanted) => implies(end, wanted, same))),
      ),
    ),
  )
}

/** `all` names actions, too. */
function allows({ may }: GrantSpec, operation: string): boolean {
  return may.includes(operation) || (may.includes('all') && !isOperation(operation))
}

function isOperation(name: string): boolean {
  return (OPERATIONS as readonly string[]).includes(name)
}

/** Whether a grant sets what an old one did, and nothing that clients could not set. */
function setsAsMuch(grant: Used, old: Used, same: SameVariable): boolean {
  const isKept = old.set.every(({ column, field, value }) => {
    const now = grant.set.find((each) => each.column === column)
    if (now === undefined || formatValue(now.value, now.field) !== formatValue(value, field)) return false
    return 'literal' in now.value || same(now.value)
  })
  const known = old.set.map(({ column }) => column)
  return isKept && grant.set.every(({ column }) => known.includes(column) || old.columns.includes(column))
}

function formatGrant(resource: ResourceSpec, { to, rows, becomes, fields, set }: GrantSpec): string {
  const parts = [
    `to ${to}`,
    ...(rows ? [`rows ${formatRule(rows)}`] : []),
    ...(becomes && formatRule(becomes) !== (rows && formatRule(rows)) ? [`becomes ${formatRule(becomes)}`] : []),
    ...(set.length > 0
      ? [`set ${set.map(({ field, value }) => `${field.name}: ${formatValue(value, field)}`).join(', ')}`]
      : []),
    `fields ${formatFields(fields, grantableFields(resource))}`,
  ]
  return parts.join('; ')
}
