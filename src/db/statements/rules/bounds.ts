import type { FieldSpec, ModelRelation, ModelSpec } from '../../../config/spec.js'
import { tableAlias } from '../../../fields/table-name.js'
import { remember } from '../../../foundation/remember.js'
import { type Caller, type ResourceAccess, showingRule, visibleRule } from '../../../resource/access.js'
import type { Scopes } from '../../../resource/plan.js'
import { ruleSql } from './rules.js'
import { insideCheck, narrowing, refersTo, RELATED, scopeChecks, scopeClause, type SelectAdded } from './scope.js'
import type { Narrow, Projection } from '../projections.js'
import type { Parameters } from '../parameters.js'

/** The limits of the statements of one request: the scope that plugins set, and the grants to its caller. */
export interface Bounds {
  readonly scopes: Scopes | undefined
  /** Undefined if grants do not limit the caller. */
  readonly granted: Granted | undefined
}

/** The grants to one caller. */
export interface Granted {
  readonly caller: Caller
  readonly access: ResourceAccess
}

/** The bounds of a request: its scope, and the grants to its caller. Callers repeat requests, so the bounds of grants alone are made once for each caller. */
export function boundsOf(caller: Caller, access: ResourceAccess | undefined, scopes: Scopes | undefined): Bounds {
  if (scopes === undefined && access) return grantedBounds(access)(caller)
  return { scopes, granted: access && { caller, access } }
}

const grantedBounds = remember((access: ResourceAccess) =>
  remember((caller: Caller): Bounds => ({ scopes: undefined, granted: { caller, access } })),
)

/** More conditions of a `where`: the records that the request may see. */
export function visibleClause(
  { table }: ModelSpec,
  bounds: Bounds | undefined,
  params: Parameters,
  reading: 'list' | 'retrieve' = 'retrieve',
): string {
  if (bounds === undefined) return ''
  const { scopes, granted } = bounds
  const scoped = scopeClause(table, scopes, params)
  if (granted === undefined) return scoped
  const rule = visibleRule(granted.access[reading])
  return rule === undefined ? scoped : `${scoped} and ${ruleSql(rule, tableAlias(table), { ...granted, params })}`
}

/** The condition under which a record of a list shows a field; undefined if every record does. */
export function showingClause(
  { table }: ModelSpec,
  { name }: FieldSpec,
  bounds: Bounds | undefined,
  params: Parameters,
): string | undefined {
  if (bounds?.granted === undefined) return undefined
  const rule = showingRule(bounds.granted.access.list, name)
  return rule && ruleSql(rule, tableAlias(table), { ...bounds.granted, params })
}

/** Limits a projection to what the grants of the caller show, with the parameters of one statement. */
export function boundProjection<Item, Items>(
  projection: Projection<Item, Items>,
  bounds: Bounds | undefined,
  params: Parameters,
): Projection<Item, Items> {
  return bounds?.granted && projection.within ? projection.within({ ...bounds.granted, params }) : projection
}

/** The select list of a record that a statement has written; its document is null if the caller may not see the record. */
export function writtenSelect(
  { table }: ModelSpec,
  { select: [document = 'null', ...others], tag }: Projection<unknown, unknown>,
  bounds: Bounds | undefined,
  params: Parameters,
): readonly string[] {
  const rule = bounds?.granted && visibleRule(bounds.granted.access.retrieve)
  // A projection without a tag returns rows to code, which gets the record that it wrote even if the caller may not see it.
  if (!bounds?.granted || rule === undefined || tag === undefined) return [document, ...others]
  const visible = ruleSql(rule, tableAlias(table), { ...bounds.granted, params })
  return [`case when ${visible} then ${document} end`, ...others]
}

/** Narrows the related records of one statement. */
export function relatedBounds(bounds: Bounds | undefined, params: Parameters): Narrow | undefined {
  if (bounds === undefined) return undefined
  const { scopes, granted } = bounds
  const scoped = narrowing(scopes, params)
  if (granted === undefined) return scoped
  return ({ model, rows }, name) =>
    `${scopeClause(model.table, scopes, params, name)}${rows === undefined ? '' : ` and ${ruleSql(rows, name, { ...granted, params })}`}`
}

interface Written {
  readonly params: Parameters
  /** The fields that the client sent; all by default. */
  readonly sent?: readonly FieldSpec[]
  /** The condition that a change leaves a relation as it is. */
  readonly kept?: (relation: ModelRelation) => string
  /** Selects columns of the rows that an `insert` adds; records may refer to each other and to themselves. */
  readonly added?: SelectAdded
}

/** The relations over these fields that the caller may set to some records only. */
export function limitedRelations(
  { relations }: ModelSpec,
  fields: readonly FieldSpec[],
  { access }: Granted,
): readonly ModelRelation[] {
  return relations.filter(
    (relation) => relation.parts.some(({ field }) => fields.includes(field)) && access.nameable(relation) !== undefined,
  )
}

/**
 * Expressions for `returning` that make a statement fail if it writes a record outside the scope, or a relation to a record that the request may not refer to.
 * @param fields the fields that are written
 */
export function boundChecks(
  model: ModelSpec,
  fields: readonly FieldSpec[],
  bounds: Bounds | undefined,
  { params, sent = fields, kept, added }: Written,
): string {
  if (bounds === undefined) return ''
  const { scopes, granted } = bounds
  const scoped = scopeChecks(model, fields, scopes, { params, added })
  if (granted === undefined) return scoped
  const related = limitedRelations(model, sent, granted).map((relation) => {
    const visible = ruleSql(granted.access.nameable(relation), RELATED, { ...granted, params })
    const refers = refersTo(model, relation, ` and ${visible}`, added)
    return insideCheck(relation.name, kept ? `${kept(relation)} or ${refers}` : refers)
  })
  return `${scoped}${related.join('')}`
}
