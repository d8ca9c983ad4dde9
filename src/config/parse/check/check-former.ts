import { canonicalTableName } from '../../../fields/table-name.js'
import type { Json } from '../../../foundation/json.js'
import { columnOf, type ModelDraft } from '../drafts.js'
import { findValue, type Path } from '../../yaml/located.js'
import type { Report } from '../report.js'
import { show } from '../../words.js'
import { itemsOf } from '../../schema/yaml-shape.js'

/** A former name that is claimed: by `renamed_from`, or in a list `dropped`. */
interface Claim {
  readonly name: string
  readonly path: Path
}

/** Reports tables that still exist although they are declared as renamed or dropped, or that are declared so twice. */
export function checkFormerTables(root: Json, owners: ReadonlyMap<string, string>, report: Report): void {
  const claims = [
    ...[...owners.values()].flatMap((model) => renamed(root, ['models', model], report)),
    ...dropped(root, [], report),
  ].map(({ name, path }) => ({ name: canonicalTableName(name) ?? name, path }))
  checkClaims(claims, { noun: 'table', isThere: (name) => owners.has(name) }, report)
}

/** The same for the fields of one model. */
export function checkFormerFields(root: Json, model: ModelDraft, report: Report): void {
  const fields = [...model.fields.keys()]
  const claims = [
    ...fields.flatMap((field) => renamed(root, [...model.path, 'fields', field], report)),
    ...dropped(root, model.path, report),
  ]
  // A field that becomes a relation, or stops being one, keeps its name and changes its column.
  const columns = new Set([...model.fields.values()].flatMap((field) => (field ? [columnOf(field)] : [])))
  checkClaims(claims, { noun: 'field', isThere: (name) => columns.has(name) }, report)
}

function renamed(root: Json, place: Path, report: Report): readonly Claim[] {
  const path = [...place, 'renamed_from']
  const name = findValue(root, path)
  return typeof name !== 'string' || report.isInvalid(path) ? [] : [{ name, path }]
}

function dropped(root: Json, place: Path, report: Report): readonly Claim[] {
  return itemsOf(findValue(root, [...place, 'dropped'])).flatMap((name, position) => {
    const path = [...place, 'dropped', position]
    return typeof name !== 'string' || report.isInvalid(path) ? [] : [{ name, path }]
  })
}

function checkClaims(
  claims: readonly Claim[],
  { noun, isThere }: { readonly noun: string; readonly isThere: (name: string) => boolean },
  report: Report,
): void {
  const seen = new Set<string>()
  // A file of swapped names would look the same before and after the migration.
  const isSwap = claims.filter(({ name, path }) => path.at(-1) === 'renamed_from' && isThere(name)).length > 1
  const swapHelp = isSwap
    ? ['or, if names are swapped, remove `renamed_from`, and run: snippetctl migrate plan --swap ONE:OTHER']
    : []
  for (const { name, path } of claims) {
    if (isThere(name)) {
      const message = `the ${noun} ${show(name)} exists, so it cannot have been renamed or dropped`
      report.add({ code: 'SC304', path, message, help: [`remove this, or the ${noun}`, ...swapHelp] })
    } else if (seen.has(name)) {
      report.add({ code: 'SC316', path, message: `the former ${noun} ${show(name)} is already listed above` })
    }
    seen.add(name)
  }
}
