import {
  type FieldSpec,
  ADDED_ID,
  loneKey,
  type Operation,
  type ResourceSpec,
  type TargetSpec,
} from '../config/spec.js'
import { totalOrder } from '../config/indexes/coverage.js'
import type { Context } from '../http/route.js'
import { isIn } from '../lookups/in.js'
import { detailName } from '../resource/bodies/links.js'
import type { Id } from '../resource/plan.js'
import { joinKey } from '../resource/keys/record-key.js'
import type { Resource } from '../resource/resource.js'
import { ask } from './ask.js'
import { seenBy } from './caller.js'
import { type Exact, isList, isMembers, type Members, readExact, textOf } from './records/exact-json.js'
import type { Explored, Related } from './place.js'

/** The maximum length of a name. */
const MAX_NAME = 80
/** How many records are requested one by one for their names. */
const MAX_REQUESTED = 25
/** How many records are found by other fields than their key. */
const MAX_FOUND = 1000

/** The field by which people know a record: the declared one, or the first text that is not part of the key. */
export function labelOf({ spec, shown }: Resource): FieldSpec | undefined {
  const isShown = shown.some(({ name }) => name === spec.labelField?.name)
  return isShown
    ? spec.labelField
    : shown.find(({ type, primaryKey }) => !primaryKey && type.comparisons.includes('text'))
}

/** The name of a record; undefined if it has none. */
export function nameOf(resource: Resource, record: Members): string | undefined {
  const value = record.get(labelOf(resource)?.name ?? '') ?? null
  const text = value === null ? '' : textOf(value).trim()
  const [...characters] = text.slice(0, 2 * MAX_NAME)
  if (text === '') return undefined
  return characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME).join('')}…` : text
}

/** The resource that shows the related records; if several do, the one whose path shares the longest prefix with the page's path. */
export function exposing(
  { resources, near = '' }: Explored,
  { model }: Pick<TargetSpec, 'model'>,
  operation: Operation = 'retrieve',
): Resource | undefined {
  const found = resources.filter(({ spec }) => spec.model.name === model && spec.operations.includes(operation))
  return found.toSorted((a, b) => likeness(b.spec.path, near) - likeness(a.spec.path, near))[0]
}

/** How many characters two paths have in common at their start. */
function likeness(path: string, other: string): number {
  const end = [...path].findIndex((character, index) => character !== other[index])
  return end < 0 ? path.length : end
}

interface Referred {
  readonly resource: Resource
  readonly path: string
}

/** The record that a relation's value refers to; undefined if no resource shows it. */
export function referred(explored: Explored, field: FieldSpec | undefined, value: Exact): Referred | undefined {
  const target = targetOf(field)
  if (!field || !target || isList(value) || value === null) return undefined
  const resource = exposing(explored, target)
  if (!resource) return undefined
  const path = target.isKey
    ? pathIn(explored, resource, value)
    : explored.related?.references.get(referenceTo(resource, referencedBy(field, value)))
  return path === undefined ? undefined : { resource, path }
}

function targetOf(field: FieldSpec | undefined): TargetSpec | undefined {
  return field?.target ?? field?.joined?.target
}

/** The texts of the fields that a relation refers to. */
type Reference = readonly (readonly [field: string, text: string])[]

function referencedBy({ target, joined }: FieldSpec, value: Exact): Reference {
  return joined && isMembers(value)
    ? joined.parts.map(({ to }) => [to.name, textOf(value.get(to.name) ?? null)])
    : [[target?.field ?? '', textOf(value)]]
}

function referenceTo({ spec }: Resource, reference: Reference): string {
  return JSON.stringify([spec.path, ...reference])
}

/** The path of a record. `key` is its key, or already its path. */
function pathIn({ routes }: Explored, { spec }: Resource, key: Exact): string | undefined {
  if (typeof key === 'string' && key.startsWith(spec.path)) return key
  const values = isMembers(key) ? partsOf(spec, key) : [[loneKey(spec.model)?.name ?? '', textOf(key)] as const]
  return routes.reverse(detailName(spec.name), Object.fromEntries(values))
}

/** The parameters of the path of a record whose key has several fields. */
function partsOf({ addedId }: ResourceSpec, key: Members): readonly (readonly [name: string, value: string])[] {
  const parts = [...key].map(([name, part]) => [name, textOf(part)] as const)
  return addedId ? [[ADDED_ID, joinKey(parts.map(([, text]) => text))]] : parts
}

interface Rows {
  readonly resource: Resource | undefined
  readonly rows: readonly Members[]
}

/** Finds the records to which others refer, and their names. */
export async function findRelated(explored: Explored, context: Context, shown: Rows): Promise<Related> {
  const references = await findReferences(explored, context, shown)
  const found = await findNamed({ ...explored, related: { references, names: new Map() } }, context, shown)
  return {
    names: new Map([...found].flatMap(([path, name]) => (name === undefined ? [] : [[path, name] as const]))),
    // A plugin may hide a record that was found.
    references: new Map([...references].filter(([, path]) => found.has(path))),
  }
}

/** The names of records by their paths; undefined for records without one. */
type Found = ReadonlyMap<string, string | undefined>

async function findNamed(explored: Explored, context: Context, { resource, rows }: Rows): Promise<Found> {
  const wanted = new Map<Resource, Set<string>>()
  for (const field of resource?.shown ?? []) {
    if (!targetOf(field)) continue
    for (const row of rows) {
      const found = referred(explored, field, row.get(field.name) ?? null)
      if (!found) continue
      const paths = wanted.get(found.resource) ?? new Set()
      wanted.set(found.resource, paths.add(found.path))
    }
  }
  const found = await Promise.all([...wanted].map((each) => findIn(explored, context, each)))
  return new Map(found.flat())
}

/** Finds the records to which others refer by other fields than the key. */
async function findReferences(
  explored: Explored,
  context: Context,
  { resource, rows }: Rows,
): Promise<Related['references']> {
  const found = (resource?.shown ?? []).map(async (field) => {
    const target = targetOf(field)
    const to = target && !target.isKey ? exposing(explored, target) : undefined
    const values = rows.map((row) => row.get(field.name) ?? null).filter((value) => value !== null)
    return to ? lookUp(explored, context, { to, references: values.map((value) => referencedBy(field, value)) }) : []
  })
  return new Map((await Promise.all(found)).flat())
}

interface Sought {
  readonly to: Resource
  readonly references: readonly Reference[]
}

/** Finds records by the values of unique fields, which the caller must see, in a resource that the caller may list. */
async function lookUp(
  explored: Explored,
  context: Context,
  { to, references }: Sought,
): Promise<readonly (readonly [string, string])[]> {
  const { resource, may } = seenBy(explored, to, context.identity)
  const fields = (references[0] ?? []).map(([name]) => resource.shown.find((field) => field.name === name))
  const known = fields.filter((field) => field !== undefined)
  if (!may('list') || known.length < fields.length || known.length === 0) return []
  const find = async (some: readonly Reference[]): Promise<readonly (readonly [key: string, path: string])[]> => {
    const { items } = await context.store(to).list({
      where: known.map((field, place) => {
        const texts = new Set(some.map((reference) => reference[place]?.[1] ?? ''))
        const values = [...texts].map((text) => field.type.parse(text, field.options))
        return { field, lookup: isIn, value: values.filter((value) => value !== undefined) }
      }),
      order: totalOrder(to.spec, []),
      start: { offset: 0 },
      limit: MAX_FOUND,
      keyset: false,
      total: 'none',
    })
    return items.map((row) => {
      const values = known.map(({ name }) => [name, String(row[name])] as const)
      return [referenceTo(to, values), pathOfId(explored, to, to.key.of(row))] as const
    })
  }
  const paths = new Map(await find(references))
  const folded = new Set([...paths.keys()].map((key) => key.toLowerCase()))
  const wanted = new Map(references.map((reference) => [referenceTo(to, reference), reference]))
  // A citext column refers to texts in other letters, and any other column to another record: the database knows.
  const unclear = [...wanted].filter(([key]) => !paths.has(key) && folded.has(key.toLowerCase()))
  const asked = unclear.slice(0, MAX_REQUESTED).map(async ([key, reference]) => {
    const [found] = await find([reference])
    return found ? [[key, found[1]] as const] : []
  })
  const others = (await Promise.all(asked)).flat()
  return [...[...paths].filter(([key]) => wanted.has(key)), ...others]
}

/** Finds some records of a resource, if they have names or others refer to them by other fields than the key. */
async function findIn(
  explored: Explored,
  context: Context,
  [resource, all]: readonly [Resource, ReadonlySet<string>],
): Promise<readonly (readonly [string, string | undefined])[]> {
  const seen = seenBy(explored, resource, context.identity)
  if (!seen.may('retrieve')) return []
  const linked = new Set(explored.related?.references.values())
  const paths = labelOf(seen.resource) ? all : new Set([...all].filter((path) => linked.has(path)))
  const nameAt = (path: string, text: string) => {
    const record = readExact(text)
    return [[path, isMembers(record) ? nameOf(seen.resource, record) : undefined] as const]
  }
  const route = [...explored.routes].find(({ name }) => name === detailName(resource.spec.name))
  // A plugin decides which records callers see there, so each record is requested as a client would request it.
  if (!route?.generated || route.place || route.uses) {
    const asked = [...paths].slice(0, MAX_REQUESTED).map(async (path) => {
      const answer = await ask(context, explored.routes, { path, search: '' })
      return answer.status === 200 ? nameAt(path, answer.text) : []
    })
    return (await Promise.all(asked)).flat()
  }
  const ids = [...paths]
    .map((path) => resource.key.parse(path.slice(resource.spec.path.length, -1)))
    .filter((id) => id !== undefined)
  const records = await context.documents(resource).retrieveMany(ids)
  return records.flatMap(({ id, item }) => nameAt(pathOfId(explored, resource, id), item))
}

function pathOfId({ routes }: Explored, { spec, key }: Resource, id: Id): string {
  return routes.reverse(detailName(spec.name), key.params(id)) ?? ''
}
