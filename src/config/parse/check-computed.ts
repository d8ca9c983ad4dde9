import { checkFieldName } from './field-names.js'
import type { ModelDraft } from './drafts.js'
import type { Report } from './report.js'
import type { ResourceDraft } from './resource-drafts.js'
import { EXPANDED } from '../spec.js'
import { show } from '../words.js'
import { membersOf } from '../schema/yaml-shape.js'
import type { Json } from '../../json.js'

/** Reports computed fields whose name is taken, or that are made of what is not there. */
export const checkComputed = ({ path, yaml }: ResourceDraft, model: ModelDraft, report: Report): void => {
  for (const [name] of membersOf(yaml.computed as Json | undefined)) {
    const at = [...path, 'computed', name]
    if (report.isSpoiled(at)) continue
    const owner = model.fields.has(name) ? `the model ${show(model.name)} has a field of that name` : TAKEN.get(name)
    if (owner !== undefined) {
      const message = `a computed field cannot be called ${show(name)}: ${owner}`
      report.add({ code: 'SC304', path: at, part: 'key', message })
    }
    for (const [index, from] of (yaml.computed?.[name]?.from ?? []).entries()) {
      const place = [...at, 'from', index]
      if (!report.isSpoiled(place)) checkFieldName(model, from, { path: place }, report)
    }
  }
}

const TAKEN: ReadonlyMap<string, string> = new Map([
  ['url', 'records have that member where they show their own address'],
  [EXPANDED, 'records have that member where they show related ones'],
])
