import { type FieldSpec, isWritable } from '../../config/spec.js'
import { featureParameters, isFilter } from '../../features/index.js'
import type { Method } from '../../http/route.js'
import { seenBy } from '../caller.js'
import { type Exact, type Members, printJson, textOf } from './exact-json.js'
import { type Html, html } from '../html.js'
import { inputOf } from './input.js'
import { selectOptions, sizeParameter } from '../lists/list-query.js'
import { exposing, labelOf, referred } from '../names.js'
import type { Explored } from '../place.js'

interface Inputs {
  /** The prefix of the inputs' ids. */
  readonly id: string
  /** The method of the request. */
  readonly method: Method
  /** The record to change. */
  readonly record?: Members
  /** Whether every field can be left out, as in an edit of several records. */
  readonly isOptional?: boolean
}

/** The inputs of the fields that clients may write, each with its rules and a place for its error. */
export function fieldInputs(explored: Explored, fields: readonly FieldSpec[], inputs: Inputs): Html {
  const { id, method, record, isOptional = false } = inputs
  // The key of a record cannot change.
  const isSet = (field: FieldSpec) => method === 'POST' || !field.primaryKey
  const writable = fields.filter((field) => isWritable(field) && isSet(field))
  const shown = writable.map((field) =>
    fieldInput(explored, { id: `${id}-${field.name}`, method, field, value: record?.get(field.name), isOptional }),
  )
  return html`${shown}`
}

interface FieldInput {
  readonly id: string
  readonly method: Method
  readonly field: FieldSpec
  /** Undefined for a new record and for fields that responses do not show. */
  readonly value: Exact | undefined
  readonly isOptional: boolean
}

function fieldInput(explored: Explored, parts: FieldInput): Html {
  const { id, method, field, value, isOptional } = parts
  const isNull = value === null && html` checked`
  const merged =
    method === 'PATCH' && field.type.patch ? '; an object is merged, and a member that is null taken out' : ''
  return html`<div class="field"><div class="label"><label for="${id}">${field.label}</label>${!isOptional && remark(field)}${
    field.nullable &&
    html`<label class="null"><input type="checkbox" data-null="${field.name}" aria-label="${field.label} is null"${isNull}> null</label>`
  }</div>
${control(explored, parts)}
<p class="hint" id="${id}-hint">${inputOf(field).hint + merged}</p><p class="error" id="${id}-error"></p></div>`
}

function control(explored: Explored, { id, field, value, method, isOptional }: FieldInput): Html {
  const { kind, choices, canBeEmpty, long, example } = inputOf(field)
  const text = format(value, kind === 'json')
  const before = value !== undefined && html` data-json="${printJson(value, 'line')}"`
  const shared = html`id="${id}" name="${field.name}" data-kind="${kind}" aria-describedby="${id}-hint ${id}-error"${kind === 'text' && html` dir="auto"`}${canBeEmpty && html` data-can-be-empty`}${!isOptional && isRequired(field) && html` aria-required="true"`}${before}`
  if (choices) return html`<select ${shared}>${selectOptions(['', ...choices], text, '—')}</select>`
  // An input would remove line breaks. A browser removes the first one of a textarea.
  if (long || /[\r\n]/.test(text)) {
    const lines = Math.min(12, Math.max(kind === 'json' ? 2 : 3, text.split('\n').length))
    return html`<textarea ${shared} rows="${lines}" spellcheck="false"${kind === 'json' && html` class="code"`}>
${text}</textarea>`
  }
  const proposals = lookup(explored, field)
  if (proposals) {
    const picked = value === undefined ? undefined : referred(explored, field, value)
    return html`<div class="picker" data-picker ${proposals}><input ${shared} role="combobox" aria-autocomplete="list" aria-expanded="false" aria-controls="${id}-list" value="${text}" placeholder="key, or words to find it" autocomplete="off"><span class="picked" dir="auto" aria-live="polite">${picked && explored.related?.names.get(picked.path)}</span>
<ul id="${id}-list" role="listbox" aria-label="Records for ${field.label}" hidden></ul></div>`
  }
  const digits = kind === 'number' && !field.target && html` inputmode="decimal"`
  const native = nativeInput(field, text, method)
  return html`<input ${shared}${native.attributes} value="${native.text}" placeholder="${(method === 'POST' ? fallbackOf(field) : undefined) ?? example}" autocomplete="off"${digits}>${native.remark && html` <span class="hint">${native.remark}</span>`}`
}

/** The browser's own input of a type, if it can hold the value: it knows no fractions below a millisecond, and no time zone. */
function nativeInput({ type, options }: FieldSpec, text: string, method: Method) {
  const { input } = type
  const plain = { attributes: undefined, text, remark: undefined }
  if (input === undefined) return plain
  if (!/^(?:date|time)/.test(input)) return { ...plain, attributes: html` type="${input}"` }
  // In a query it is text like any other.
  if (method === 'GET') return plain
  const isUniversal = type.rules(options).some(({ schema }) => schema['format'] === 'date-time')
  const shown = withoutFinalZeros(text.replace(/Z$/, ''))
  if (shown !== '' && !NATIVE.test(shown)) return plain
  const zone = isUniversal && html` data-zone="Z"`
  const attributes = html` type="${input}"${input !== 'date' && html` step="1"`}${zone}`
  return { attributes, text: shown, remark: isUniversal ? 'UTC' : undefined }
}

/** Shortens a fraction: `.500` to `.5`, `.000` to nothing. */
function withoutFinalZeros(text: string): string {
  if (!text.includes('.')) return text
  let end = text.length
  while (text[end - 1] === '0') end -= 1
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end)
}

const NATIVE = /^(?:\d{4}-\d\d-\d\d)?(?:(?:^|T)\d\d:\d\d:\d\d(?:\.\d{1,3})?)?$/

function format(value: Exact | undefined, asJson: boolean): string {
  if (value === undefined || value === null) return ''
  return asJson ? printJson(value, 'lines') : textOf(value)
}

/** The text of a default value, which the server sets in a new record if an input is left empty. */
function fallbackOf({ default: fallback }: FieldSpec): string | undefined {
  if (fallback === undefined || !('literal' in fallback) || fallback.literal === null) return undefined
  return String(fallback.literal)
}

function isRequired({ nullable, default: fallback }: FieldSpec): boolean {
  return fallback === undefined && !nullable
}

function remark(field: FieldSpec): Html | undefined {
  const { default: fallback } = field
  if (fallback === undefined) return isRequired(field) ? html` <span class="dim">required</span>` : undefined
  const value = 'call' in fallback ? `${fallback.call}()` : JSON.stringify(fallback.literal)
  return html` <span class="dim">default ${value}</span>`
}

/** Where the script finds the records that a relation can refer to, a few at a time, with the caller's own rights. */
function lookup(explored: Explored, { target }: FieldSpec): Html | undefined {
  const found = target && exposing(explored, target, 'list')
  const size = found && sizeParameter(found.spec)
  // Without pages, the list is the proposals. A dialect has parameters of its own.
  if (!found || (size === undefined && found.spec.dialect)) return undefined
  const { resource, may } = seenBy(explored, found, explored.caller)
  const finding = featureParameters(found.spec, 'list').filter(({ findsText }) => findsText)
  const search = finding.find((each) => !isFilter(each)) ?? finding[0]
  // Without a search, the script looks for words in the first records.
  const most = Math.min(search ? PROPOSALS : MAX_LOOKED_AT, found.spec.pagination.maxPageSize)
  const url = size === undefined ? found.spec.path : `${found.spec.path}?${size}=${most}`
  return resource.shown.some(({ name }) => name === target.field)
    ? html`data-path="${url}" data-key="${target.field}" data-label="${labelOf(resource)?.name}" data-search="${search?.name}"${size !== undefined && html` data-most="${most}"`}${target.isKey && may('retrieve') && html` data-record="${found.spec.path}"`}`
    : undefined
}

/** How many records are proposed for a relation; `picker-script.ts` has the same number. */
const PROPOSALS = 10
/** The number of records in which the script looks for words, if the list has no search. */
const MAX_LOOKED_AT = 100
