import { EXPANDED, type FieldSpec } from '../../config/spec.js'
import { type CsvCell, writeCsvRow } from './csv-row.js'
import { splitDocument } from '../document-members.js'
import type { ListPlan } from '../plan.js'
import type { Resource } from '../resource.js'

/** The CSV form of an export. */
export interface CsvForm {
  readonly header: string
  /** The row of a document. Members that the document lacks are empty. */
  row(document: string): string
}

/** The columns of an export: the members of its documents. */
export function csvForm(resource: Pick<Resource, 'spec' | 'members' | 'shown' | 'access'>, plan: ListPlan): CsvForm {
  const { spec } = resource
  const names = columnsOf(listedMembers(resource), plan)
  const fields = new Map(
    [...spec.shown, ...spec.computed.map(({ field }) => field)].map((field) => [field.name, field]),
  )
  const writers = names.map((name) => [name, mayBeNumber(fields.get(name))] as const)
  return {
    header: writeCsvRow(names),
    row(document) {
      const found = splitDocument(document)
      return writeCsvRow(writers.map(([name, isNumeric]) => cellOf(found.get(name), isNumeric)))
    },
  }
}

/** The members that some records of a list show to the caller; others appear only in single records. */
function listedMembers({ members, shown, access }: Pick<Resource, 'members' | 'shown' | 'access'>): readonly string[] {
  if (!access) return members
  const stored = new Set(shown.map(({ name }) => name))
  return members.filter((name) => !stored.has(name) || access.list.parts.some(({ fields }) => fields.has(name)))
}

function columnsOf(members: readonly string[], { distinct, selection }: ListPlan): readonly string[] {
  if (distinct) return [distinct.name]
  const wanted = members.filter((name) => selection?.members?.has(name) ?? true)
  return selection && selection.expand.length > 0 ? [...wanted, EXPANDED] : wanted
}

/** Whether a JSON string may be an exact number. A negative one starts like a formula but is harmless; text from clients is not. */
function mayBeNumber(field: FieldSpec | undefined): boolean {
  return field !== undefined && !field.type.comparisons.includes('text')
}

const NUMBER = /^-?\d+(?:\.\d+)?$/
/** Spreadsheets evaluate cells that start with these as formulas, even in quotes. */
const FORMULA = /^[=+\-@\t\r]/

/** The cell for a JSON text: strings unquoted, null as nothing, anything else as JSON. Text that looks like a formula gets an apostrophe before it. */
function cellOf(json: string | undefined, isNumeric: boolean): CsvCell {
  if (json === undefined || json === 'null') return null
  if (!json.startsWith('"')) return json
  const text = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
  const isFormula = FORMULA.test(text) && !(isNumeric && NUMBER.test(text))
  return isFormula ? `'${text}` : text
}
