import type { FieldSpec, GrantSpec, ModelRelation, ModelSpec } from '../../config/spec.js'
import { isOptional } from '../../resource/field-schema.js'
import { areSame, printJson, type StoredText, type Verdict } from './compare.js'
import { decideDestroy, isHeld, refersTo } from './decide-destroy.js'
import {
  type AccessRequest,
  type Decision,
  fieldOf,
  findRecord,
  grantsOf,
  isSeen,
  isUnchanged,
  showsSome,
  shownPart,
  type Situation,
} from './situation.js'
import { every, evaluateRule, NO_VALUE, presetText, some, type StoredRecord } from './evaluate.js'

/** A record after a write; without the values that only the database knows. */
type After = Readonly<Record<string, StoredText>>

/** A grant that can cover a write, with the values that it sets. */
interface Candidate {
  readonly grant: GrantSpec
  readonly preset: Readonly<Record<string, StoredText | undefined>>
  /** The fields of the body that it does not name. */
  readonly outside: readonly string[]
}

/** Decides a request that writes one record. */
export function decideWrite(situation: Situation, request: AccessRequest): Decision {
  if (request.operation === 'destroy') return decideDestroy(situation, request)
  const kind = request.operation === 'create' ? 'create' : 'change'
  const sent = readBody(situation, request)
  if (sent === undefined) return { status: 400 }
  const { among } = request
  for (const way of waysTo(situation, request, kind, sent)) {
    const chosen = among ? way.filter(({ grant }) => among.includes(grant)) : way
    const decision = decideBy(situation, request, { kind, sent, chosen })
    if (decision.status !== 403) return decision
  }
  return { status: 403 }
}

/** Decides a write by grants that set the same values. */
function decideBy(
  situation: Situation,
  request: AccessRequest,
  { kind, sent, chosen }: Pick<Write, 'kind' | 'sent' | 'chosen'>,
): Decision {
  const { resource, caller } = situation
  const [first] = chosen
  if (first === undefined) return { status: 403 }
  const before = kind === 'change' ? findRecord(situation, request.id ?? []) : undefined
  if (kind === 'change') {
    const shown = before && shownPart(situation, 'retrieve', before)
    if (shown === 'unknown') return { status: undefined }
    if (before === undefined || shown === undefined) return { status: 404 }
    const covered = some(chosen.map((each) => coversBefore(situation, each, before, sent)))
    if (covered !== true) return { status: covered === false ? 403 : undefined }
    if (!isUnchanged(request, shown)) return { status: 412 }
    // A change without fields only reads.
    if (Object.keys(sent).length === 0) return { status: 200, stored: before, records: [shown] }
  }
  const after = afterWrite(resource.model, before, { ...sent, ...first.preset })
  const rejected = rejection(situation, { kind, before, after, sent, chosen })
  if (rejected !== 'none') return { status: rejected }
  const seen = grantsOf(resource, 'retrieve', caller).length > 0 ? shownPart(situation, 'retrieve', after) : undefined
  const status = kind === 'create' ? 201 : seen === undefined ? 204 : 200
  if (seen === 'unknown') return { status: kind === 'create' ? 201 : undefined, stored: after }
  return { status, stored: after, records: seen ? [seen] : [] }
}

/** Whether the body of a request is valid for its caller, before it is known which grant covers it. */
export function hasValidBody(situation: Situation, request: AccessRequest): boolean {
  return readBody(situation, request) !== undefined
}

/** The grants that can cover a new record, as far as its fields tell: those that set the same values together, in the order in which they are tried. */
export function creatingGrants(situation: Situation, request: AccessRequest): readonly (readonly GrantSpec[])[] {
  const sent = readBody(situation, request)
  if (sent === undefined) return []
  return waysTo(situation, request, 'create', sent).map((way) => way.map(({ grant }) => grant))
}

/** The fields that a body sets; undefined if it is not valid for this caller. */
function readBody(situation: Situation, { body = {}, operation }: AccessRequest): StoredRecord | undefined {
  const { resource, caller } = situation
  const grants = grantsOf(resource, operation, caller)
  const isPreset = (name: string) => grants.some(({ set }) => set.some(({ field }) => field.name === name))
  const isGranted = (name: string) => grants.some(({ fields }) => fields.includes(name))
  const isShown = (name: string) => showsSome(situation, 'list', name) || showsSome(situation, 'retrieve', name)
  const isRead = (name: string) => isGranted(name) || isShown(name)
  const fieldsByName = new Map(resource.model.fields.map((field) => [field.name, field]))
  for (const name of Object.keys(body)) if (!isRead(name) && !isPreset(name)) return undefined
  for (const field of resource.model.fields.filter(({ readOnly }) => !readOnly)) {
    const { name } = field
    if (!isGranted(name) || grants.every(({ set }) => set.some((each) => each.field === field))) continue
    const isRequired = operation === 'create' ? !isOptional(field) : operation === 'update' && !field.primaryKey
    if (isRequired && !(name in body)) return undefined
  }
  const written = Object.entries(body).filter(([name]) => {
    const field = fieldsByName.get(name)
    return field !== undefined && !field.readOnly && isRead(name) && !(operation !== 'create' && field.primaryKey)
  })
  return Object.fromEntries(written)
}

/** The grants that can cover a write, as far as its fields tell. */
function candidatesFor(
  { resource: { model }, known }: Situation,
  kind: 'create' | 'change',
  grants: readonly GrantSpec[],
  sent: StoredRecord,
): readonly Candidate[] {
  return grants.flatMap((grant): readonly Candidate[] => {
    const presets = grant.set.map(({ field, value }) => [field.name, presetText(field, value, known)] as const)
    if (presets.some(([, text]) => text === NO_VALUE)) return []
    const preset = Object.fromEntries(presets) as Candidate['preset']
    const outside = Object.keys(sent).filter((name) => !(name in preset) && !grant.fields.includes(name))
    const isDefault = (name: string) => {
      const field = fieldOf(model.fields, name)
      return areSame(field, sent[name], initialText(field))
    }
    return kind === 'create' && !outside.every(isDefault) ? [] : [{ grant, preset, outside }]
  })
}

/** The grants that can cover a write: those that set the same values together, in the order in which they are tried. */
function waysTo(
  situation: Situation,
  { operation }: AccessRequest,
  kind: 'create' | 'change',
  sent: StoredRecord,
): readonly (readonly Candidate[])[] {
  const grants = grantsOf(situation.resource, operation, situation.caller)
  const ways: Candidate[][] = []
  const ranked = candidatesFor(situation, kind, grants, sent).toSorted(
    (one, other) => rankOf(one, sent) - rankOf(other, sent),
  )
  for (const each of ranked) {
    const same = ways.find(([first]) => first && isSame(first.preset, each.preset))
    if (same) same.push(each)
    else ways.push([each])
  }
  return ways
}

/** If grants set different values, grants that ignore no sent field are tried first, and among them grants for all records. */
function rankOf({ preset, grant }: Candidate, sent: StoredRecord): number {
  return (Object.keys(sent).some((name) => name in preset) ? 2 : 0) + (grant.rows === undefined ? 0 : 1)
}

function isSame(one: Candidate['preset'], other: Candidate['preset']): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => name in other && one[name] === other[name])
}

function coversBefore(
  situation: Situation,
  { grant, outside }: Candidate,
  before: StoredRecord,
  sent: StoredRecord,
): Verdict {
  const same = outside.map((name) => isKept(situation, before, sent, name))
  return every([evaluateRule(grant.rows, before, situation.known).holds, ...same])
}

/** Whether a change leaves a field as the caller sees it. */
function isKept(situation: Situation, before: StoredRecord, after: After, name: string): Verdict {
  const field = fieldOf(situation.resource.model.fields, name)
  return areSame(field, before[name], after[name]) ? isSeen(situation, before, name) : false
}

interface Write {
  readonly kind: 'create' | 'change'
  readonly before: StoredRecord | undefined
  readonly after: After
  readonly sent: StoredRecord
  readonly chosen: readonly Candidate[]
}

/** The status of a rejected write; `none` if it succeeds, undefined if that is not known. */
function rejection(situation: Situation, write: Write): number | 'none' | undefined {
  const { kind, before, after, sent, chosen } = write
  const { resource, known } = situation
  const { model } = resource
  // Perhaps no grant may set a required field.
  if (model.fields.some(({ name, nullable }) => !nullable && after[name] === null)) return 400
  const isSent = (name: string) => name in sent && !(name in (chosen[0]?.preset ?? {}))
  const reached = model.relations.flatMap((relation) => {
    const names = relation.parts.map(({ field }) => field.name).filter(isSent)
    if (names.length === 0) return []
    const kept = before ? every(names.map((name) => isKept(situation, before, after, name))) : false
    return [some([kept, isReachable(situation, relation, before, after)])]
  })
  if (reached.includes(false)) return 409
  const covers = chosen.map((candidate): Verdict => {
    const rule = kind === 'create' ? candidate.grant.rows : candidate.grant.becomes
    const keys = candidate.grant.set.map(
      ({ field, value }) => !('user' in value) || candidate.preset[field.name] !== null,
    )
    const start = before === undefined ? true : coversBefore(situation, candidate, before, sent)
    return every([start, evaluateRule(rule, after, known).holds, ...keys])
  })
  const covered = some(covers)
  if (covered === true && isTaken(situation, before, after)) return 409
  if (covered !== true || reached.includes(undefined)) return covered === false ? 403 : undefined
  // The values that other records refer to cannot change.
  const isChanged = ({ parts }: ModelRelation) => parts.some(({ to }) => before?.[to.name] !== after[to.name])
  if (before && isHeld(situation, before, isChanged)) return 409
  const exists = every(model.relations.map((relation) => isThere(situation, relation, after)))
  return exists === true ? 'none' : exists === false ? 409 : undefined
}

/**
 * Whether the record that a relation names exists; true if it names none. A new record may name itself, perhaps by values that only the database knows.
 */
function isThere({ resource: { model }, known }: Situation, relation: ModelRelation, after: After): Verdict {
  const { target, parts } = relation
  if (parts.some(({ field }) => after[field.name] == null)) return true
  const isOwn = target.table === model.table
  if (isOwn && refersTo(after, relation, after)) return true
  const found = known.records(target.table)?.some((each) => refersTo(after, relation, each))
  return found === false && isOwn && parts.some(({ to }) => after[to.name] === undefined) ? undefined : found
}

/**
 * Whether the caller may retrieve the record that a relation names, and sees the fields by which it does; true if this holds for all records, even if
 * the record does not exist. A new record may name itself.
 */
function isReachable(
  { spec, resource: { model: own }, caller, known }: Situation,
  relation: ModelRelation,
  before: StoredRecord | undefined,
  after: After,
): Verdict {
  const { target, parts } = relation
  const references = parts.map(({ field }) => after[field.name])
  if (references.includes(null)) return true
  if (references.includes(undefined)) return undefined
  const grants = spec.resources
    .filter(({ model }) => model.table === target.table)
    .flatMap((resource) => grantsOf(resource, 'retrieve', caller))
    .filter(({ fields }) => target.isKey || parts.every(({ to }) => fields.includes(to.name)))
  if (grants.some(({ rows }) => rows === undefined)) return true
  const added = before === undefined && target.table === own.table ? [after] : []
  const related = [...(known.records(target.table) ?? []), ...added].find((each) => refersTo(after, relation, each))
  return related === undefined ? false : some(grants.map(({ rows }) => evaluateRule(rows, related, known).holds))
}

/** Whether another record has the values of the key, or of a unique field or index. */
function isTaken({ resource: { model }, known }: Situation, before: StoredRecord | undefined, after: After): boolean {
  const others = (known.records(model.table) ?? []).filter((each) => each !== before)
  const unique = [
    ...(model.key.length > 0 ? [model.key.map(({ name }) => name)] : []),
    ...model.fields.filter((field) => field.unique).map(({ name }) => [name]),
    ...model.indexes
      .filter((index) => index.unique && index.where.length === 0)
      .map(({ columns }) => model.fields.filter(({ column }) => columns.includes(column)).map(({ name }) => name)),
  ]
  return unique.some((names) =>
    others.some((each) => names.every((name) => after[name] != null && after[name] === each[name])),
  )
}

/** The record after a write of these values; a new record (`before` undefined) has the defaults of its other fields. */
export function afterWrite(model: ModelSpec, before: StoredRecord | undefined, written: Candidate['preset']): After {
  const entries = model.fields.flatMap((field) => {
    const { name } = field
    const text = name in written ? written[name] : before && isKeptByWrites(field) ? before[name] : initialText(field)
    return text === undefined ? [] : [[name, text] as const]
  })
  return Object.fromEntries(entries)
}

/** Whether changes of other fields leave the value as it is. */
function isKeptByWrites({ auto, generated }: FieldSpec): boolean {
  return auto !== 'on_update' && !generated
}

/** The value that the database gives a field; undefined if only the database knows it. */
function initialText(field: FieldSpec): StoredText | undefined {
  const { default: standard, assigned, auto, generated } = field
  if (assigned || auto !== undefined || generated) return undefined
  if (standard === undefined) return null
  return 'literal' in standard ? printJson(field, standard.literal) : undefined
}
