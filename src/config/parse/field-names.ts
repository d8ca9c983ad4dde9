import type { Path } from '../yaml/located.js'
import { show, suggest } from '../words.js'
import { type FieldDraft, type ModelDraft, whyHidden } from './drafts.js'
import type { Report } from './report.js'

/** The place in a configuration that names a field. */
export interface NamePlace {
  readonly path: Path
  readonly part?: 'key'
}

/** Reports a field that the model does not have. Returns whether it has the field. */
export function checkFieldName(model: ModelDraft, name: string, place: NamePlace, report: Report): boolean {
  if (model.fields.has(name)) return true
  const message = `the model ${show(model.name)} has no field ${show(name)}`
  const parts = model.relations.get(name)?.yaml.fields.map(show).join(', ')
  const help =
    parts === undefined
      ? suggest(name, [...model.fields.keys()], 'field')
      : [`${show(name)} is a relation over several fields; name these: ${parts}`]
  report.add({ ...place, code: 'SC305', message, help })
  return false
}

/** How lists use fields. */
export interface FieldUse {
  /** In messages: `lists cannot be filtered by`. */
  readonly used: string
  /** Returns why the type of a field prevents this use; undefined if it does not. */
  whyNot(field: FieldDraft): string | undefined
  readonly help?: string
}

/** Reports a field that lists must not use in this way. @returns the field, if they may */
export function checkUsable(
  model: ModelDraft,
  name: string,
  place: NamePlace,
  { use: { used, whyNot, help }, report }: { readonly use: FieldUse; readonly report: Report },
): FieldDraft | undefined {
  if (!checkFieldName(model, name, place, report)) return undefined
  const field = model.fields.get(name)
  if (field === undefined) return undefined
  const reason = whyHidden(field) ?? whyNot(field)
  if (reason === undefined) return field
  const message = `lists cannot be ${used} by ${show(name)}: ${reason}`
  report.add({ ...place, code: 'SC311', message, ...(help !== undefined && { help: [help] }) })
  return undefined
}
