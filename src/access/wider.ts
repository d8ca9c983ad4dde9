import {
  ANYONE,
  type AppSpec,
  type GrantSpec,
  isShown,
  isWritable,
  type ModelRelation,
  type ModelSpec,
  OPERATIONS,
  type ResourceSpec,
  type Rule,
  type SetSpec,
  SIGNED_IN,
} from '../config/spec.js'
import { ungrantedCascades } from '../config/parse/access-effects.js'
import { findValue, type Path } from '../config/yaml/located.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import type { Json } from '../foundation/json.js'
import { conjunctionsOf, implies, nameOf, type SameVariable, setNarrower } from './implies.js'
import { grantableFields, grantPath } from './matrix.js'
import { formatFields, formatRule, formatValue } from './format.js'

/** A checked configuration, and the text that it was made of. */
export interface Configured {
  readonly spec: AppSpec
  readonly root: Json
}

/** Something that callers may do with the new configuration, and perhaps not with the old one. */
export interface Widened {
  /** `task.list:member`, `auth.jwt`: what `--allow-wider` names. */
  readonly what: string
  /** The new permission, in words of the file. */
  readonly now: string
  /** Where the new file has it. */
  readonly path: Path
  /** The permissions of the old file that it replaces, each with its place. */
  readonly before: readonly { readonly text: string; readonly path: Path }[]
}

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
      (operation) => !isCovered(used(resource, grant, operation), { operation, to: grant.to }, old, same),
    )
    return widened
      .filter((operation) => operation !== 'all' || widened.length === 1)
      .map((operation): Widened => {
        const others = (old?.access ?? []).flatMap((each, at) =>
          old && isToAll(each.to, grant.to) && allows(each, operation)
            ? [{ text: formatGrant(old, each), path: grantPath(old, at) }]
            : [],
        )
        return {
          what: `${resource.name}.${operation}:${grant.to}`,
          now: formatGrant(resource, grant),
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

/** A grant with those of its fields that an operation reads or writes. */
function used({ model }: ResourceSpec, grant: GrantSpec, operation: string): GrantSpec {
  const isUsed = isRead(operation) ? isShown : isWritable
  const unused = new Set(model.fields.filter((field) => !isUsed(field)).map(({ name }) => name))
  return { ...grant, fields: grant.fields.filter((name) => !unused.has(name)) }
}

function isRead(operation: string): boolean {
  return operation === 'list' || operation === 'retrieve'
}

/** Whether the grants of an old resource allow all that a new one does. */
function isCovered(
  grant: GrantSpec,
  { operation, to }: Use,
  old: ResourceSpec | undefined,
  same: SameVariable,
): boolean {
  const candidates = (old?.access ?? []).flatMap((each) =>
    old && isToAll(each.to, to) && allows(each, operation) ? [used(old, each, operation)] : [],
  )
  if (isRead(operation))
    // A record has the fields of all grants that cover it.
    return conjunctionsOf(grant.rows).every((all) => {
      const covering = candidates.filter(({ rows }) =>
        conjunctionsOf(rows).some((wanted) => implies(all, wanted, same)),
      )
      return covering.length > 0 && grant.fields.every((name) => covering.some(({ fields }) => fields.includes(name)))
    })
  const isChange = operation === 'update' || operation === 'partial_update'
  const isWrite = isChange || operation === 'create'
  const becomes: Rule | undefined = isChange ? grant.becomes : undefined
  // A write needs one grant for all of it.
  return conjunctionsOf(grant.rows).every((start) =>
    conjunctionsOf(becomes).every((end) =>
      candidates.some(
        (each) =>
          (!isWrite || (grant.fields.every((name) => each.fields.includes(name)) && setsAsMuch(grant, each, same))) &&
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

/** Whether a grant applies to everybody that another applies to. */
function isToAll(one: string, other: string): boolean {
  return one === other || one === ANYONE || (one === SIGNED_IN && other !== ANYONE)
}

/** Whether a grant sets what an old one did, and nothing that clients could not set. */
function setsAsMuch(grant: GrantSpec, old: GrantSpec, same: SameVariable): boolean {
  const spelled = new Map(grant.set.map(({ field, value }) => [field.name, formatValue(value, field)]))
  const isKept = old.set.every(
    ({ field, value }) => spelled.get(field.name) === formatValue(value, field) && ('literal' in value || same(value)),
  )
  const known = old.set.map(({ field }) => field.name)
  return isKept && grant.set.every(({ field }) => known.includes(field.name) || old.fields.includes(field.name))
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

/** Which variables mean the same in both files, or less in the new one. */
function sameVariables(before: Configured, after: Configured): SameVariable {
  const isSame = (path: Path) =>
    JSON.stringify(findValue(before.root, path)) === JSON.stringify(findValue(after.root, path))
  const isSameUser = isSame(['auth', 'user'])
  const old = setsOf(before.spec)
  const same: SameVariable = (value) => {
    if ('subject' in value) return true
    if ('claim' in value) return isSame(['auth', 'claims', value.claim])
    if ('user' in value) return isSameUser
    const other = old.get(nameOf(value))
    return other !== undefined && setNarrower(value.set, other, same)
  }
  return same
}

/** The sets that the rules of a configuration use. */
function setsOf({ resources }: AppSpec): ReadonlyMap<string, SetSpec> {
  const rules = resources.flatMap(({ access = [] }) => access.flatMap(({ rows, becomes }) => [rows, becomes]))
  return new Map(
    rules.flatMap((rule) =>
      (rule ?? []).flat().flatMap(({ value }) => ('set' in value ? [[value.set.name, value.set]] : [])),
    ),
  )
}

/** Keys of `auth` that allow nothing by themselves. */
const HARMLESS = ['title', 'url', 'user', 'sets', 'claims']

/** Reports ways to sign in that are new or differ, new roles, and routes for more callers. */
function widenedAuth(before: Configured, after: Configured): readonly Widened[] {
  const at = (path: Path) => ({ old: findValue(before.root, path), now: findValue(after.root, path) })
  const entry = (path: Path, what: string, now: string, old: Json | undefined): Widened => ({
    what,
    now,
    path,
    before: old === undefined ? [] : [{ text: JSON.stringify(old), path }],
  })
  const differing = membersOf(at(['auth']).now)
    .filter(([key]) => !HARMLESS.includes(key) && !['roles', 'routes', 'development'].includes(key))
    .flatMap(([key, value]) => {
      const { old } = at(['auth', key])
      return JSON.stringify(old) === JSON.stringify(value)
        ? []
        : [entry(['auth', key], `auth.${key}`, JSON.stringify(value), old)]
    })
  const from = at(['auth', 'roles', 'from'])
  const source =
    from.now !== undefined && JSON.stringify(from.old) !== JSON.stringify(from.now)
      ? [entry(['auth', 'roles', 'from'], 'auth.roles.from', JSON.stringify(from.now), from.old)]
      : []
  const roles = (after.spec.auth?.roles ?? [])
    .filter((role) => !before.spec.auth?.roles.includes(role))
    .map((role) => entry(['auth', 'roles', 'names'], `auth.roles.${role}`, `the role ${role}`, undefined))
  const development = membersOf(at(['auth', 'development']).now).flatMap(([name, value]) => {
    const { old } = at(['auth', 'development', name])
    const isSame = JSON.stringify(old) === JSON.stringify(value)
    return isSame ? [] : [entry(['auth', 'development', name], `auth.development.${name}`, JSON.stringify(value), old)]
  })
  const routes = membersOf(at(['auth', 'routes']).now).flatMap(([name, value]) => {
    const { old } = at(['auth', 'routes', name])
    const named = itemsOf(old).map(String)
    const more = (Array.isArray(value) ? itemsOf(value) : [value])
      .map(String)
      .filter((to) => ![...(typeof old === 'string' ? [old] : named)].some((each) => isToAll(each, to)))
    return more.length === 0 ? [] : [entry(['auth', 'routes', name], `auth.routes.${name}`, more.join(', '), old)]
  })
  return [...differing, ...source, ...roles, ...development, ...routes]
}

/** Reports paths under which resources are served once more. */
function widenedMounts(before: Configured, after: Configured): readonly Widened[] {
  return after.spec.mounts.flatMap(({ path }, index) =>
    before.spec.mounts.some((each) => each.path === path)
      ? []
      : [{ what: `mounts.${path}`, now: `a mount at ${path}`, path: ['mounts', index], before: [] }],
  )
}
