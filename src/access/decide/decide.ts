import { compareStored, compareValue, type StoredText, type Verdict } from './compare.js'
import { icontains } from '../../lookups/icontains.js'
import { decideWrite } from './decide-write.js'
import type { StoredRecord } from './evaluate.js'
import { compileRelated } from './related-filter.js'
import {
  type AccessRequest,
  type Decision,
  fieldOf,
  findRecord,
  grantsOf,
  showsSome,
  shownPart,
  type Situation,
} from './situation.js'

/**
 * Decides a request by the grants alone. It shares no code with the statements that the service sends, so that tests can compare the two.
 * The records of all tables are in memory, and each rule is evaluated for each record.
 */
export function decide(situation: Situation, request: AccessRequest): Decision {
  const { resource, caller } = situation
  if (grantsOf(resource, request.operation, caller).length === 0) return { status: caller ? 403 : 401 }
  if (request.operation === 'list') return decideList(situation, request)
  if (request.operation !== 'retrieve') return decideWrite(situation, request)
  const record = findRecord(situation, request.id ?? [])
  const shown = record && shownPart(situation, 'retrieve', record)
  if (shown === 'unknown') return { status: undefined }
  return shown ? { status: 200, records: [shown] } : { status: 404 }
}

function decideList(situation: Situation, request: AccessRequest): Decision {
  const { resource, caller, known } = situation
  const { model } = resource
  const { filters = [], words = [], order = [], distinct } = request
  const own = filters.filter(({ relations = [] }) => relations.length === 0)
  const related = filters.filter(({ relations = [] }) => relations.length > 0)
  const conditions = related.map((each) => compileRelated(situation, each))
  if (conditions.includes(undefined)) return { status: 400 }
  const named = [...own.map(({ field }) => field), ...(distinct === undefined ? [] : [distinct])]
  if (!named.every((name) => showsSome(situation, 'list', name))) return { status: 400 }
  const readings = [...grantsOf(resource, 'list', caller), ...grantsOf(resource, 'retrieve', caller)]
  if (!order.every(({ field }) => readings.every(({ fields }) => fields.includes(field)))) return { status: 400 }
  const searched = resource.search.filter(({ name }) => showsSome(situation, 'list', name))
  if (words.length > 0 && searched.length === 0) return { status: 400 }
  const found: { readonly record: StoredRecord; readonly shown: StoredRecord }[] = []
  for (const record of known.records(model.table) ?? []) {
    const shown = shownPart(situation, 'list', record)
    if (shown === 'unknown') return { status: 200 }
    if (shown) found.push({ record, shown })
  }
  const asks = (shown: StoredRecord, name: string, holds: (stored: StoredText) => Verdict): boolean => {
    const stored = shown[name]
    return stored !== undefined && holds(stored) === true
  }
  const matching = found.filter(
    ({ record, shown }) =>
      conditions.every((holds) => holds?.(record) === true) &&
      own.every(({ field, lookup, wanted }) =>
        asks(shown, field, (stored) => compareValue(fieldOf(model.fields, field), lookup, stored, wanted)),
      ) &&
      words.every((word) =>
        searched.some((field) => asks(shown, field.name, (stored) => compareValue(field, icontains, stored, [word]))),
      ),
  )
  if (distinct !== undefined) {
    const values = [...new Set(matching.flatMap(({ shown }) => shown[distinct] ?? (distinct in shown ? [null] : [])))]
    const field = fieldOf(model.fields, distinct)
    const sorted = values.sort((one, other) => compareStored(field, one, other))
    return { status: 200, records: sorted.map((value) => ({ [distinct]: value })) }
  }
  const terms =
    order.length > 0 ? order : resource.defaultOrder.map(({ field, descending }) => ({ field: field.name, descending }))
  const last = terms.at(-1)?.descending ?? false
  const whole = [...terms, ...model.key.map(({ name }) => ({ field: name, descending: last }))]
  const compare = (one: StoredRecord, other: StoredRecord): number => {
    for (const { field, descending } of whole) {
      const [first, second] = [one[field] ?? null, other[field] ?? null]
      const difference = compareStored(fieldOf(model.fields, field), first, second)
      if (difference === 0) continue
      const place = resource.nulls[field]
      const isGiven = place !== undefined && (first === null || second === null)
      return (isGiven ? place === 'first' : descending) ? -difference : difference
    }
    return 0
  }
  const sorted = matching.sort((one, other) => compare(one.record, other.record))
  return { status: 200, records: sorted.map(({ shown }) => shown) }
}
