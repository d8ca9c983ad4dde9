import type { FieldSpec, GrantSpec, ModelSpec } from '../../../config/spec.js'
import { writeCell } from '../../../fields/cell.js'
import { type FieldError, Problem } from '../../../foundation/problem.js'
import { remember, rememberByText } from '../../../foundation/remember.js'
import { CallerKey, isSent, isSentWhole, presetValue } from '../../../resource/access.js'
import type { Row } from '../../../resource/plan.js'
import type { Granted } from './bounds.js'

/** A row to write, with the values that some grants set; one of these grants must cover the whole row. */
export interface GrantedWrite {
  readonly row: Row
  /** The names of fields whose values the client has sent. */
  readonly sent: ReadonlySet<string>
  readonly coverings: readonly Covering[]
  /** Equal for writes under the same grants that have the same fields, of which the same are sent, and the same coverings. */
  readonly form: string
}

/** A grant that names all written fields except some, whose values must not change. */
export interface Covering {
  readonly grant: GrantSpec
  readonly unchanged: readonly FieldSpec[]
}

/** The ways to write a row, in the order in which they are tried: grants that set different values write different rows. */
export type GrantedWrites = readonly [GrantedWrite, ...GrantedWrite[]]

/**
 * Finds the grants that can cover a row, as far as its fields tell.
 * @throws Problem `forbidden` naming the fields that no grant names
 */
export function grantedWrites(
  model: ModelSpec,
  kind: 'create' | 'change',
  given: Row,
  { caller, access }: Granted,
): GrantedWrites {
  const grants = access[kind]
  const { write } = isSentWhole(given) ? writesByNames(grants)(Object.keys(given).join()) : DEPENDS
  if (write) return [{ row: given, sent: write.sent, coverings: write.coverings, form: write.form }]
  const sent = Object.keys(given).filter((name) => isSent(given, name))
  const byCode = (name: string) => Object.hasOwn(given, name) && !isSent(given, name)
  const found = grants.flatMap((grant): readonly Candidate[] => {
    const presets = grant.set
      .filter(({ field }) => !byCode(field.name))
      .map(({ field, value }) => [field, presetValue(field, value, caller)] as const)
    if (presets.some(([, value]) => value === undefined)) return []
    const preset = new Map(presets.map(([{ name }, value]) => [name, value]))
    const outside = sent.filter((name) => !preset.has(name) && !grant.fields.includes(name))
    const unchanged = outside.length === 0 ? [] : model.fields.filter(({ name }) => outside.includes(name))
    if (kind === 'create' && unchanged.some((field) => !isDefault(field, given[field.name]))) return []
    const ignores = sent.some((name) => preset.has(name))
    return [{ grant, unchanged, preset, signature: signatureOf(presets), ignores }]
  })
  const ranked = found.toSorted((one, other) => rankOf(one) - rankOf(other))
  const alike = [...new Set(ranked.map(({ signature }) => signature))].map((signature) =>
    ranked.filter((each) => each.signature === signature),
  )
  const [first, ...others] = alike.map((coverings) => {
    const preset = new Map(coverings[0]?.preset)
    const row = preset.size === 0 ? given : { ...given, ...Object.fromEntries(preset) }
    return withForm({ row, sent: new Set(sent.filter((name) => !preset.has(name))), coverings }, grants)
  })
  if (first) return [first, ...others]
  throw forbiddenFields(
    model,
    given,
    sent.filter((name) => !isNamed(grants, name)),
    kind,
  )
}

/** A way to write several rows. */
export interface WriteOfAll {
  readonly writes: readonly (Pick<GrantedWrite, 'row'> & Partial<GrantedWrite>)[]
  /** The grants that can cover every row. */
  readonly coverings: GrantedWrite['coverings']
}

/** The ways to write several rows under the same grants, in the order of the first row. */
export function waysOfAll([first, ...others]: readonly GrantedWrites[]): readonly WriteOfAll[] {
  const isIn = ({ coverings }: GrantedWrite, grant: unknown) => coverings.some((each) => each.grant === grant)
  return (first ?? []).flatMap((write) => {
    const found: WriteOfAll[] = []
    for (const { grant } of write.coverings) {
      if (found.some(({ coverings }) => coverings.some((each) => each.grant === grant))) continue
      const rest = others.flatMap((ways) => ways.find((way) => isIn(way, grant)) ?? [])
      if (rest.length < others.length) continue
      const coverings = write.coverings.filter((each) => rest.every((way) => isIn(way, each.grant)))
      found.push({ writes: [write, ...rest], coverings })
    }
    return found
  })
}

/** The parts of a write that are the same for all rows with the same fields; undefined if they depend on values too. */
interface ByNames {
  readonly write: Omit<GrantedWrite, 'row'> | undefined
}

const DEPENDS: ByNames = { write: undefined }

/** The number of lists of field names that are remembered, because clients choose which fields they send. */
const MAX_NAMES = 200

/** Finds the coverings of rows whose fields the client has all sent, once for the same names. Values matter if a grant sets some, or does not name every field. */
const writesByNames = remember((grants: readonly GrantSpec[]) =>
  rememberByText(MAX_NAMES, (names): ByNames => {
    const sent = names === '' ? [] : names.split(',')
    const isWhole = grants.every(({ fields, set }) => set.length === 0 && sent.every((name) => fields.includes(name)))
    if (grants.length === 0 || !isWhole) return DEPENDS
    return { write: { sent: new Set(sent), coverings: grants.map((grant) => ({ grant, unchanged: [] })), form: names } }
  }),
)

/** The form of these writes contains a semicolon, so it differs from every list of names. */
function withForm(write: Omit<GrantedWrite, 'form'>, grants: readonly GrantSpec[]): GrantedWrite {
  const { row, sent, coverings } = write
  let form = ''
  for (const name in row) form += `${row[name] instanceof CallerKey ? '$' : ''}${sent.has(name) ? '+' : ''}${name},`
  for (const { grant, unchanged } of coverings) {
    form += `;${grants.indexOf(grant)}`
    for (const { name } of unchanged) form += `=${name}`
  }
  return { ...write, form }
}

interface Candidate extends Covering {
  readonly preset: ReadonlyMap<string, unknown>
  /** Equal for grants that set the same values. */
  readonly signature: string
  readonly ignores: boolean
}

/** Grants that ignore nothing that the client sends come first, and among them grants for all records. */
function rankOf({ ignores, grant }: Candidate): number {
  return (ignores ? 2 : 0) + (grant.rows === undefined ? 0 : 1)
}

function signatureOf(presets: readonly (readonly [field: FieldSpec, value: unknown])[]): string {
  const parts = presets.map(
    ([field, value]) => [field.name, value instanceof CallerKey ? { caller: true } : writeCell(field, value)] as const,
  )
  return JSON.stringify(parts.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The fields of a change that no grant names, so that it must leave them as they are. */
export function unnamedFields(model: ModelSpec, row: Row, { access }: Granted): readonly FieldSpec[] {
  return model.fields.filter(({ name }) => isSent(row, name) && !isNamed(access.change, name))
}

function isNamed(grants: readonly GrantSpec[], name: string): boolean {
  return grants.some(({ fields, set }) => fields.includes(name) || set.some(({ field }) => field.name === name))
}

/** Whether the database would give a new record the same value. */
function isDefault(field: FieldSpec, value: unknown): boolean {
  const { default: standard, type, options } = field
  if (standard === undefined) return value === null
  if (!('literal' in standard)) return false
  if (standard.literal === null || value === null) return standard.literal === value
  const same = type.fromJson(standard.literal, JSON.stringify(standard.literal), options)
  const [one, other] = [String(writeCell(field, same)), String(writeCell(field, value))]
  return one === other || type.areEqual?.(one, other) === true
}

/** The problem of fields that the caller may not set. */
export function forbiddenFields(
  { fields }: ModelSpec,
  row: Row,
  names: readonly string[],
  kind: 'create' | 'change',
): Problem {
  const blamed = fields.filter(
    (field) => names.includes(field.name) && (kind === 'change' || !isDefault(field, row[field.name])),
  )
  const errors = blamed.map(
    ({ name, label }): FieldError => ({ field: name, message: `${label} cannot be set by this caller` }),
  )
  const detail =
    errors.length === 1
      ? errors[0]?.message
      : errors.length > 1
        ? `${errors.length} fields cannot be set by this caller`
        : NOT_GRANTED
  return new Problem('forbidden', detail, { errors })
}

const NOT_GRANTED = 'no grant allows this change to this caller'

/** The problem of a change that no grant covers. */
export function notGranted(): Problem {
  return new Problem('forbidden', NOT_GRANTED)
}

/** Whether no grant covers a change. Row-level security has problems of the same type. */
export function isNotGranted(error: unknown): error is Problem {
  return error instanceof Problem && error.message === NOT_GRANTED
}
