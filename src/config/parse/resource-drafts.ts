import type { Json } from '../../json.js'
import type { Drafts, ModelDraft } from './drafts.js'
import { findValue, type Path } from '../yaml/located.js'
import { operationsOf } from './operations.js'
import type { Report } from './report.js'
import type { Operation } from '../core-spec.js'
import { membersOf, type ResourceYaml } from '../schema/yaml-shape.js'

/** A resource as far as it is known. */
export interface ResourceDraft {
  readonly name: string
  readonly path: Path
  /** Each member only where `has` says that its shape is right. */
  readonly yaml: ResourceYaml
  /** undefined when it is not declared, or cannot be read. */
  readonly model: ModelDraft | undefined
  has(key: string): boolean
  /** What stands under a key of a feature; undefined when nothing does. */
  given(key: string): Json | undefined
}

/** The declared resources, each as far as its shape allows. */
export const draftResources = (root: Json, models: Drafts, report: Report): readonly ResourceDraft[] =>
  membersOf(findValue(root, ['resources'])).map(([name, json]) => draft(name, json, models, report))

const draft = (name: string, json: Json, models: Drafts, report: Report): ResourceDraft => {
  const path = ['resources', name]
  const members = Object.fromEntries(membersOf(json))
  return {
    name,
    path,
    yaml: members as unknown as ResourceYaml,
    model: typeof members['model'] === 'string' ? models.get(members['model']) : undefined,
    given: (key) => members[key],
    has: (key) => members[key] !== undefined && !report.isSpoiled([...path, key]),
  }
}

/** Whether a resource offers an operation; undefined when what it says of operations has the wrong shape. */
export const offers = (
  { path, yaml, has }: ResourceDraft,
  operation: Operation,
  report: Report,
): boolean | undefined => {
  const unclear = (['operations', 'read_only'] as const).some((key) => yaml[key] !== undefined && !has(key))
  return unclear || report.isDoubtful(path) ? undefined : operationsOf(yaml).includes(operation)
}
