import type { FieldSpec } from '../../config/spec.js'
import { type Cell, writeCell } from '../../fields/cell.js'
import type { Caller, CallerValue } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'
import type { Bounds } from './rules/bounds.js'
import { type Parameters, parameters } from './parameters.js'
import type { Rendered } from './prepared-statements.js'
import { rememberByText } from '../../foundation/remember.js'
import type { GrantedWrite } from './rules/granted-writes.js'

/** The values of one request for a statement. */
export interface Inputs {
  readonly caller: Caller
  /** The written values of the key, which are the first parameters. */
  readonly id?: readonly string[]
  /** The row to write. */
  readonly row?: Row
}

/** A parameter: a value that belongs to the text, or how it is read from a request. `given` has the values of the caller. */
type Source = Cell | ((inputs: Inputs, given: readonly unknown[]) => Cell)

/** A rendered statement without its values. */
export type Text = Omit<Rendered, 'values'>

/** Renders a statement that no other request uses. */
export function renderedAlone(render: (params: Parameters) => Text, id: readonly string[] = []): Rendered {
  const params = parameters(...id)
  return ofText(render(params), params.values)
}

/** The caller, if nothing but its grants bounds a request; undefined otherwise. */
export function onlyCaller(bounds: Bounds | undefined): Caller | undefined {
  return bounds?.scopes === undefined ? bounds?.granted?.caller : undefined
}

/** Renders the writes of requests without bounds, whose SQL depends only on the names of the written fields. */
export type OpenTemplates = (row: Row, id: readonly string[], render: (params: Parameters) => Text) => Rendered

/** A text for all requests whose callers have the same values of those it depends on. It holds no value of a request. */
interface Template {
  readonly statement: Text
  readonly depends: readonly Dependency[]
  readonly sources: readonly Source[]
}

interface Dependency {
  readonly value: CallerValue
  readonly isGiven: boolean
}

/** Returns a statement with the values of a request. Its text is that of a kept template; if none fits the request, `render` makes one. */
export type Templates = (inputs: Inputs, render: (params: Parameters) => Text) => Rendered

/** Callers with the same roles rarely have different claims. */
const MAX_TEMPLATES = 8

/**
 * Keeps the texts of one statement for callers with the same roles.
 * @param ownsValues whether the values of `add` belong to the statement and not to a request. Otherwise a text with such a value is not kept
 */
export function createTemplates({ ownsValues }: { readonly ownsValues: boolean }): Templates {
  const templates: Template[] = []
  return (inputs, render) => {
    for (const template of templates) {
      const rendered = fill(template, inputs)
      if (rendered) return rendered
    }
    const { params, recorded } = recordParameters(inputs, ownsValues)
    const template = { statement: render(params), depends: recorded.depends, sources: recorded.sources }
    if (recorded.isReusable) templates.push(template)
    if (templates.length > MAX_TEMPLATES) templates.shift()
    return withValues(template, inputs, givenOf(template, inputs))
  }
}

function givenOf({ depends }: Template, { caller }: Inputs): readonly unknown[] {
  return depends.map(({ value }) => value(caller))
}

/** Fills in the values of a caller; returns undefined if the caller lacks a value that the text needs, or has one that it does not consider. */
function fill(template: Template, inputs: Inputs): Rendered | undefined {
  const given = givenOf(template, inputs)
  if (!template.depends.every(({ isGiven }, at) => isGiven === (given[at] !== undefined))) return undefined
  return withValues(template, inputs, given)
}

function withValues({ statement, sources }: Template, inputs: Inputs, given: readonly unknown[]): Rendered {
  const values = sources.map((source) => (typeof source === 'function' ? source(inputs, given) : source))
  return ofText(statement, values)
}

/** Copies each property by name, because a spread takes longer, on every request. */
function ofText({ text, kind, raw, record }: Text, values: readonly Cell[]): Rendered {
  return { text, values, kind, raw, record }
}

interface Recorded {
  readonly depends: Dependency[]
  readonly sources: Source[]
  isReusable: boolean
}

/** Parameters that record where each value comes from. */
function recordParameters(
  { id = [] }: Inputs,
  ownsValues: boolean,
): { readonly params: Parameters; readonly recorded: Recorded } {
  const sources: Source[] = id.map((_, at) => idAt(at))
  const recorded: Recorded = { depends: [], sources, isReusable: true }
  const addSource = (source: Source) => `$${sources.push(source)}`
  const placeOf = (value: CallerValue, caller: Caller): number => {
    const known = recorded.depends.findIndex((each) => each.value === value)
    return known < 0 ? recorded.depends.push({ value, isGiven: value(caller) !== undefined }) - 1 : known
  }
  const params: Parameters = {
    values: [],
    add: (value) => {
      recorded.isReusable &&= ownsValues
      return addSource(value)
    },
    addFixed: addSource,
    addGiven: (value, caller, cell) => addSource(givenAt(placeOf(value, caller), cell)),
    addWritten: (field) => addSource(writtenIn(field)),
    given: (value, caller) => {
      placeOf(value, caller)
      return value(caller)
    },
    dependsOnValue: () => {
      recorded.isReusable = false
    },
  }
  return { params, recorded }
}

// Made outside of the recording, so that sources refer to no value of the first request.
function idAt(at: number): Source {
  return ({ id }) => id?.[at] ?? null
}

function givenAt(at: number, cell: (given: unknown) => Cell): Source {
  return (_, given) => cell(given[at])
}

function writtenIn(field: FieldSpec): Source {
  return ({ row }) => writeCell(field, row?.[field.name])
}

/**
 * Keeps the texts of writes for callers with the same roles. A text depends on the fields that are written and on the grants that can cover them.
 * @returns the templates for a write
 */
export function createWriteTemplates(maxEntries: number): (write: GrantedWrite) => Templates {
  const templates = rememberByText(maxEntries, () => createTemplates({ ownsValues: false }))
  return ({ form }) => templates(form)
}

const ANYONE: Caller = Object.freeze({ subject: undefined, claims: Object.freeze({}) })

/** Caches the SQL of writes without bounds by the names of the written fields. The SQL must depend on nothing else. */
export function createOpenTemplates(maxEntries: number): OpenTemplates {
  const templates = rememberByText(maxEntries, () => createTemplates({ ownsValues: false }))
  return (row, id, render) => templates(Object.keys(row).join())({ caller: ANYONE, id, row }, render)
}
