import { featuresFor } from '../features/index.js'
import { type ExpansionSpec, type GrantSpec, type Operation, OPERATIONS, type ResourceSpec } from '../config/spec.js'
import { type Reading, readingOf, type ResourceAccess, visibleRule } from '../resource/access.js'
import type { View } from '../resource/resource.js'

/** The grants that apply to one kind of caller. */
export interface Applicable extends Pick<ResourceAccess, 'retrievable' | 'nameable'> {
  /** The grants of a resource. */
  grants(spec: ResourceSpec): readonly GrantSpec[]
  resource(name: string): ResourceSpec | undefined
}

/** A resource as some callers see it. */
export interface Restricted {
  readonly spec: ResourceSpec
  readonly view: View
}

/** Whether a grant allows an operation or an action. */
export function allows({ may }: GrantSpec, name: string): boolean {
  return may.includes(name) || (may.includes('all') && !isOperation(name))
}

/** The grants that allow an operation or an action. */
export function grantsFor(grants: readonly GrantSpec[], name: string): readonly GrantSpec[] {
  return grants.filter((grant) => allows(grant, name))
}

function isOperation(name: string): boolean {
  return (OPERATIONS as readonly string[]).includes(name)
}

/**
 * Makes the resource that callers with these grants see: without the fields that no grant shows, and with the parameters that the other fields allow.
 * @param change the operation whose grants changes need
 */
export function restrict(
  spec: ResourceSpec,
  grants: readonly GrantSpec[],
  applicable: Applicable,
  change: Operation,
): Restricted {
  const access: ResourceAccess = {
    list: readingOf(spec.model, grantsFor(grants, 'list')),
    retrieve: readingOf(spec.model, grantsFor(grants, 'retrieve')),
    create: grantsFor(grants, 'create'),
    change: grantsFor(grants, change),
    destroy: grantsFor(grants, 'destroy'),
    granting: (name) => grantsFor(grants, name),
    retrievable: applicable.retrievable,
    nameable: applicable.nameable,
  }
  const readings = [access.list, access.retrieve]
  const shows = (name: string) => readings.some((reading) => showsSome(reading, name))
  const alwaysShows = (name: string) => readings.every((reading) => showsAlways(reading, name))
  const isListed = access.list.parts.length > 0
  const shown = spec.shown.filter(({ name }) => shows(name))
  const seesAll = visibleRule(access.list) === undefined
  const showsKey = spec.model.key.every(({ name }) => alwaysShows(name))
  return {
    spec: {
      ...spec,
      ...featuresFor(spec, {
        asks: (name) => isListed && showsSome(access.list, name),
        always: alwaysShows,
        expansion: (expansion) => restrictExpansion(expansion, alwaysShows, applicable),
        seesAll,
      }),
      url: spec.url && showsKey,
      addedId: spec.addedId && { shown: showsKey },
      shown,
    },
    view: {
      access,
      create: writable(spec, access.create, shows),
      change: writable(spec, access.change, shows),
    },
  }
}

/** The members of bodies: fields that grants name or records show, and presets, which are ignored. */
function writable(spec: ResourceSpec, grants: readonly GrantSpec[], shows: (name: string) => boolean): View['create'] {
  const isGranted = (name: string) => grants.some(({ fields }) => fields.includes(name))
  const isPreset = (name: string) => grants.some(({ set }) => set.some(({ field }) => field.name === name))
  return {
    fields: spec.model.fields.filter(({ name }) => isGranted(name) || shows(name)),
    granted: new Set(
      spec.model.fields.map(({ name }) => name).filter((name) => isGranted(name) && !isAlwaysPreset(grants, name)),
    ),
    ignored: spec.model.fields.map(({ name }) => name).filter(isPreset),
  }
}

function isAlwaysPreset(grants: readonly GrantSpec[], name: string): boolean {
  return grants.every(({ set }) => set.some(({ field }) => field.name === name))
}

function showsSome({ parts }: Reading, name: string): boolean {
  return parts.some(({ fields }) => fields.has(name))
}

function showsAlways({ parts }: Reading, name: string): boolean {
  return parts.every(({ fields }) => fields.has(name))
}

/** A related record as its own resource shows it to the caller; undefined if it shows none, or if not every record shows the relation. */
function restrictExpansion(
  expansion: ExpansionSpec,
  isShown: (field: string) => boolean,
  applicable: Applicable,
): ExpansionSpec | undefined {
  if (!expansion.relation.parts.every(({ field }) => isShown(field.name))) return undefined
  const spec = applicable.resource(expansion.resource)
  const reading = readingOf(expansion.model, spec ? grantsFor(applicable.grants(spec), 'retrieve') : [])
  if (reading.parts.length === 0) return undefined
  const showsRelated = (name: string) => showsAlways(reading, name)
  return {
    ...expansion,
    fields: expansion.fields.filter(({ name }) => showsRelated(name)),
    rows: visibleRule(reading),
    varies: false,
    url: expansion.url && expansion.model.key.every(({ name }) => showsRelated(name)),
    expand: expansion.expand.flatMap((each) => restrictExpansion(each, showsRelated, applicable) ?? []),
  }
}
