import type { ModelRelation } from '../../config/spec.js'
import { evaluateRule, some, type StoredRecord } from './evaluate.js'
import {
  type AccessRequest,
  type Decision,
  findRecord,
  grantsOf,
  isUnchanged,
  shownPart,
  type Situation,
} from './situation.js'

/** Decides a request that deletes one record. */
export function decideDestroy(situation: Situation, request: AccessRequest): Decision {
  const { resource, caller, known } = situation
  const before = findRecord(situation, request.id ?? [])
  const shown = before && shownPart(situation, 'retrieve', before)
  if (shown === 'unknown') return { status: undefined }
  if (before === undefined || shown === undefined) return { status: 404 }
  const grants = grantsOf(resource, 'destroy', caller)
  const covered = some(grants.map(({ rows }) => evaluateRule(rows, before, known).holds))
  if (covered !== true) return { status: covered === false ? 403 : undefined }
  if (!isUnchanged(request, shown)) return { status: 412 }
  return { status: isHeld(situation, before, ({ target }) => target.onDelete === 'restrict') ? 409 : 204 }
}

/** Whether other records refer to a record by some relations. */
export function isHeld(
  { resource: { model: own }, known, spec }: Situation,
  record: StoredRecord,
  isAmong: (relation: ModelRelation) => boolean,
): boolean {
  return spec.models.some(
    (model) =>
      model.view === undefined &&
      model.relations.some(
        (relation) =>
          relation.target.table === own.table &&
          isAmong(relation) &&
          (known.records(model.table) ?? []).some((each) => each !== record && refersTo(each, relation, record)),
      ),
  )
}

/** Whether a relation of a record refers to another record. */
export function refersTo(record: StoredRecord, { parts }: ModelRelation, other: StoredRecord): boolean {
  return parts.every(({ field, to }) => record[field.name] != null && record[field.name] === other[to.name])
}
