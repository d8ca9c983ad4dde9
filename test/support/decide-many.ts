import { decide } from '../../src/access/decide/decide.js'
import { creatingGrants, hasValidBody } from '../../src/access/decide/decide-write.js'
import type { StoredRecord } from '../../src/access/decide/evaluate.js'
import {
  type AccessRequest,
  type Decision,
  findRecord,
  grantsOf,
  shownPart,
  type Situation,
} from '../../src/access/decide/situation.js'

/** The expected response to a request that writes several records. */
export interface DecisionOnMany {
  /** The acceptable statuses: those of the rejected records, or the status of success; undefined if they depend on something that is not known. */
  readonly statuses: readonly number[] | undefined
  /** For each record, the decision about it; empty if the request is rejected. */
  readonly decisions: readonly Decision[]
}

/**
 * Decides a request that creates, changes or deletes several records in one transaction. The result is not known if the decision about a record depends
 * on what the request does to the records before it.
 */
export function decideMany(situation: Situation, requests: readonly AccessRequest[]): DecisionOnMany {
  const [{ operation } = { operation: 'create' as const }] = requests
  if (grantsOf(situation.resource, operation, situation.caller).length === 0)
    return rejectedBy([situation.caller ? 403 : 401])
  if (!requests.every((request) => hasValidBody(situation, request))) return rejectedBy([400])
  if (operation !== 'create') return decideTogether(situation, requests)
  const ways = sharedGrants(situation, requests)
  let outcome = rejectedBy([403])
  for (const [place, among] of ways.entries()) {
    outcome = decideTogether(
      situation,
      requests.map((request) => ({ ...request, among })),
    )
    if (!outcome.statuses?.includes(403)) return outcome
    // The failure that the database meets first decides whether it tries other grants.
    if (place < ways.length - 1 && outcome.statuses.some((status) => status !== 403)) return unknown()
  }
  return outcome
}

/** Decides the requests by all grants to the caller, or by the grants in their `among`. */
function decideTogether(situation: Situation, requests: readonly AccessRequest[]): DecisionOnMany {
  const [{ operation } = { operation: 'create' as const }] = requests
  const decisions = requests.map((request) => decide(situation, request))
  const later = decideInTurn(situation, requests)
  if (JSON.stringify(decisions) !== JSON.stringify(later)) return unknown()
  const { isKnown, failed } = failuresOf(decisions)
  const visible = requests.map(({ id }) => id === undefined || isVisible(situation, id))
  if (visible.includes('unknown')) return unknown()
  // All records are locked before the first one is changed.
  if (visible.includes(false)) return rejectedBy([404])
  // Records that are deleted together do not block each other's deletion.
  if (operation === 'destroy' && failed.includes(409) && !decideApart(situation, requests).includes(409))
    return unknown()
  if (!isKnown) return unknown()
  // Each failure is an acceptable response: which one the database meets first is not known.
  if (failed.length > 0) return rejectedBy(failed)
  if (operation === 'create') return { statuses: [201], decisions }
  return { statuses: [decisions.some(({ status }) => status === 204) ? 204 : 200], decisions }
}

/** The grants that can cover all of several new records, in the order in which they are tried. */
function sharedGrants(situation: Situation, requests: readonly AccessRequest[]) {
  const [first = [], ...others] = requests.map((request) => creatingGrants(situation, request))
  return first
    .map((way) => way.filter((grant) => others.every((ways) => ways.flat().includes(grant))))
    .filter((among) => among.length > 0)
}

/** Whether the caller may retrieve the record. */
function isVisible(situation: Situation, id: readonly string[]): boolean | 'unknown' {
  const record = findRecord(situation, id)
  const shown = record && shownPart(situation, 'retrieve', record)
  return shown === 'unknown' ? shown : shown !== undefined
}

function unknown(): DecisionOnMany {
  return { statuses: undefined, decisions: [] }
}

function rejectedBy(statuses: readonly number[]): DecisionOnMany {
  return { statuses, decisions: [] }
}

function failuresOf(decisions: readonly Decision[]) {
  const statuses = decisions.map(({ status }) => status)
  return {
    isKnown: !statuses.includes(undefined),
    failed: statuses.filter((status): status is number => status !== undefined && status >= 400),
  }
}

/** The status of each request if the records of the others did not exist. */
function decideApart(situation: Situation, requests: readonly AccessRequest[]): readonly (number | undefined)[] {
  const { table } = situation.resource.model
  return requests.map((request) => {
    const others = requests.filter((each) => each !== request).map(({ id }) => id && findRecord(situation, id))
    const records = situation.known.records(table)?.filter((each) => !others.includes(each))
    return decide(withRecords(situation, records), request).status
  })
}

/** Decides each request about the records as the requests before it leave them. */
function decideInTurn(situation: Situation, requests: readonly AccessRequest[]): readonly Decision[] {
  let records = situation.known.records(situation.resource.model.table)
  return requests.map((request) => {
    const current = withRecords(situation, records)
    const decision = decide(current, request)
    if (decision.status === undefined || decision.status >= 400) return decision
    const former = request.id && findRecord(current, request.id)
    const others = records?.filter((each) => each !== former)
    records = others && [...others, ...(decision.stored ? [decision.stored as StoredRecord] : [])]
    return decision
  })
}

/** The situation with other records in the table of its resource. */
function withRecords(situation: Situation, records: readonly StoredRecord[] | undefined): Situation {
  const { resource, known } = situation
  const isOwn = (table: string) => table === resource.model.table
  return { ...situation, known: { ...known, records: (table) => (isOwn(table) ? records : known.records(table)) } }
}
