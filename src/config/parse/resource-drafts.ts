import { PLAIN } from '../../dialects/index.js'
import type { Json } from '../../foundation/json.js'
import type { Drafts, ModelDraft } from './drafts.js'
import { findValue, type Path } from '../yaml/located.js'
import type { Report } from './report.js'
import { type Operation, OPERATIONS, READS } from '../core-spec.js'
import { itemsOf, membersOf, type ResourceYaml } from '../schema/yaml-shape.js'

/** A resource as far as it can be read. */
export interface ResourceDraft {
  readonly name: string
  readonly path: Path
  /** Each member is reliable only if `has` returns true for it. */
  readonly yaml: ResourceYaml
  /** Undefined if it is not declared, or cannot be read. */
  readonly model: ModelDraft | undefined
  /** The dialect of the resource at every path; `plain` if it is plain at one of them. */
  readonly dialect: string
  has(key: string): boolean
  /** The value of a feature's key; undefined if the key is absent. */
  given(key: string): Json | undefined
}

/** The declared resources, each as far as its shape allows. */
export function draftResources(root: Json, models: Drafts, report: Report): readonly ResourceDraft[] {
  return membersOf(findValue(root, ['resources'])).map(([name, json]) => draft(root, name, json, { models, report }))
}

function draft(
  root: Json,
  name: string,
  json: Json,
  { models, report }: { readonly models: Drafts; readonly report: Report },
): ResourceDraft {
  const path = ['resources', name]
  const members = Object.fromEntries(membersOf(json))
  const has = (key: string) => members[key] !== undefined && !report.isInvalid([...path, key])
  const model = typeof members['model'] === 'string' ? models.get(members['model']) : undefined
  return {
    name,
    path,
    yaml: members as unknown as ResourceYaml,
    model,
    given: (key) => members[key],
    has,
    dialect: dialectOf(root, has('dialect') ? members['dialect'] : model?.isKeyless ? PLAIN : undefined),
  }
}

function dialectOf(root: Json, own: Json | undefined): string {
  const dialect = own ?? findValue(root, ['api', 'dialect']) ?? PLAIN
  const mounts = itemsOf(findValue(root, ['mounts'])).map((mount) => findValue(mount, ['dialect']))
  return typeof dialect !== 'string' || mounts.includes(PLAIN) ? PLAIN : dialect
}

/** Whether a resource has an operation; undefined if its operations have the wrong shape. */
export function offers({ path, yaml, has }: ResourceDraft, operation: Operation, report: Report): boolean | undefined {
  const unclear = (['operations', 'read_only'] as const).some((key) => yaml[key] !== undefined && !has(key))
  return unclear || report.isUncertain(path) ? undefined : operationsOf(yaml).includes(operation)
}

/** The operations of a resource, in the order of `OPERATIONS`. */
export function operationsOf({
  operations,
  read_only,
}: Pick<ResourceYaml, 'operations' | 'read_only'>): readonly Operation[] {
  const given: readonly Operation[] = read_only ? READS : (operations ?? OPERATIONS)
  return OPERATIONS.filter((operation) => given.includes(operation))
}
