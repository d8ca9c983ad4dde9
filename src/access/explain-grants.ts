import type { GrantSpec } from '../config/spec.js'
import { type EvaluatedRule, evaluateRule, NO_VALUE, presetText, type StoredRecord } from './decide/evaluate.js'
import { allows } from './restrict.js'
import { afterWrite } from './decide/decide-write.js'
import { type AccessRequest, isTo, type Situation } from './decide/situation.js'

/** A grant of the requested operation, and why it covers the request or does not. */
export interface EvaluatedGrant {
  readonly grant: GrantSpec
  /** Its place under `access`. */
  readonly index: number
  /** Whether it applies to the caller. */
  readonly isToCaller: boolean
  /** `rows` for the stored record, or for the new one. */
  readonly rows: EvaluatedRule
  /** `becomes` for the record after a change; undefined for other operations. */
  readonly becomes: EvaluatedRule | undefined
  /** Fields of the body that it does not name; in a new record they must have their default, in a change keep their value. */
  readonly outside: readonly string[]
  /** Fields that it sets to a value that the caller does not have. */
  readonly unset: readonly string[]
}

/** Evaluates each grant of the requested operation by itself, including grants to others. */
export function explainGrants(
  situation: Situation,
  request: AccessRequest,
  stored: StoredRecord | undefined,
): readonly EvaluatedGrant[] {
  const { resource, caller, known } = situation
  const { operation, body = {} } = request
  const isChange = operation === 'update' || operation === 'partial_update'
  return (resource.access ?? []).flatMap((grant, index): readonly EvaluatedGrant[] => {
    if (!allows(grant, operation)) return []
    const presets = grant.set.map(({ field, value }) => [field.name, presetText(field, value, known)] as const)
    const preset = Object.fromEntries(presets.map(([name, text]) => [name, text === NO_VALUE ? undefined : text]))
    const before = operation === 'create' ? afterWrite(resource.model, undefined, { ...body, ...preset }) : stored
    const after = { ...stored, ...body, ...preset } as StoredRecord
    return [
      {
        grant,
        index,
        isToCaller: isTo(grant, caller),
        rows: evaluateRule(grant.rows, before, known),
        becomes: isChange ? evaluateRule(grant.becomes, after, known) : undefined,
        outside: Object.keys(body).filter(
          (name) => !grant.fields.includes(name) && !presets.some(([set]) => set === name),
        ),
        unset: presets.filter(([, text]) => text === NO_VALUE).map(([name]) => name),
      },
    ]
  })
}

/** Whether no grant lets the caller retrieve the record, so that every change of it, and every action on it, is 404. */
export function cannotRetrieve(
  situation: Situation,
  request: AccessRequest,
  stored: StoredRecord | undefined,
): boolean {
  return explainGrants(situation, { ...request, operation: 'retrieve' }, stored).every(
    ({ isToCaller, rows }) => !isToCaller || rows.holds === false,
  )
}
