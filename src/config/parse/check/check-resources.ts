import type { Json } from '../../../foundation/json.js'
import { OPERATIONS } from '../../core-spec.js'
import { findValue } from '../../yaml/located.js'
import type { Build, Scope } from '../../../features/feature.js'
import { FEATURES, reservedParameters } from '../../../features/index.js'
import { brokenRuleOf, createValidator } from './check-fields.js'
import { checkLinks, checkUrl } from './check-links.js'
import { checkDialect, checkMounts } from './check-mounts.js'
import type { AuthDraft } from '../auth-draft.js'
import { type Drafts, type FieldDraft, isWholeKey, keySourceOf } from '../drafts.js'
import type { Report } from '../report.js'
import { draftResources, offers, type ResourceDraft } from '../resource-drafts.js'
import { show, suggest } from '../../words.js'

/** The functions that build the features of each resource, by its name. */
export type FeatureBuilds = ReadonlyMap<string, readonly Build<object>[]>

/**
 * Reports mistakes in the resources, as far as their shape and the shape of the models allow.
 * @returns the functions that build their features, for a configuration without mistakes
 */
export function checkResources(
  root: Json,
  { models, auth }: { readonly models: Drafts; readonly auth: AuthDraft | undefined },
  report: Report,
): FeatureBuilds {
  const resources = draftResources(root, models, report)
  checkPaths(resources, report)
  checkWritable(resources, report)
  checkMounts(root, report)
  const validate = createValidator()
  const scope: Scope = {
    resources,
    models,
    auth,
    report,
    reserved: reservedParameters,
    brokenRule: ({ type, options }, value) => brokenRuleOf(value, type, options, validate),
  }
  const builds = new Map<string, readonly Build<object>[]>()
  for (const resource of resources) {
    checkModelName(resource, models, report)
    checkOperations(resource, report)
    checkDialect(root, resource, report)
    checkKeyed(resource, report)
    checkReadOnly(resource, report)
    builds.set(
      resource.name,
      FEATURES.map((feature) => feature.parse(resource, scope)),
    )
    if (resource.model === undefined) continue
    checkUrl(resource, resource.model, report)
    checkLinks(resource, resource.model, scope)
  }
  return builds
}

/** Reports operations on single records where records have no key. */
function checkKeyed(resource: ResourceDraft, report: Report): void {
  const { name, model, path } = resource
  if (model?.isKeyless !== true) return
  const wrong = OPERATIONS.filter((operation) => operation !== 'list' && offers(resource, operation, report) === true)
  if (wrong.length > 0) {
    const place = resource.has('operations') ? { path: [...path, 'operations'] } : ({ path, part: 'key' } as const)
    const message = `records of ${show(model.name)} have no primary key, so the resource ${show(name)} can only list them`
    report.add({
      ...place,
      code: 'SC320',
      message,
      help: ['write `operations: [list]`, or name the fields of the key in the model'],
    })
  }
  const style = findValue(resource.given('pagination') ?? null, ['style'])
  if (style !== 'cursor') return
  const message = 'cursors need a primary key: without one, two records can have the same position'
  report.add({
    code: 'SC320',
    path: [...path, 'pagination', 'style'],
    message,
    help: ['choose `page_number` or `limit_offset`'],
  })
}

/** Reports a resource of a view without `operations`: PostgreSQL accepts changes only of the simplest views. */
function checkReadOnly({ name, model, path, yaml }: ResourceDraft, report: Report): void {
  if (model?.isView !== true || yaml.operations !== undefined || yaml.read_only !== undefined) return
  const message = `${show(model.name)} is a view, so the resource ${show(name)} must say which operations it has`
  report.add({
    code: 'SC320',
    path,
    part: 'key',
    message,
    help: [
      model.isKeyless ? 'write `operations: [list]`' : 'write `read_only: true`',
      'PostgreSQL takes changes of a view that selects columns of one table, without grouping',
    ],
  })
}

function checkPaths(resources: readonly ResourceDraft[], report: Report): void {
  const owners = new Map<string, string>()
  for (const { name, path, yaml, has } of resources) {
    if (!has('path')) continue
    const owner = owners.get(yaml.path)
    owners.set(yaml.path, owner ?? name)
    if (owner === undefined) continue
    const message = `the path ${show(yaml.path)} is already used by the resource ${show(owner)}`
    report.add({ code: 'SC309', path: [...path, 'path'], message })
  }
}

function checkModelName({ path, yaml, has }: ResourceDraft, models: Drafts, report: Report): void {
  if (!has('model') || models.has(yaml.model)) return
  const help = suggest(yaml.model, [...models.keys()], 'model')
  report.add({ code: 'SC306', path: [...path, 'model'], message: `no model is named ${show(yaml.model)}`, help })
}

function checkOperations({ path, yaml, has }: ResourceDraft, report: Report): void {
  if (!has('operations') || !has('read_only') || yaml.read_only !== true) return
  const [second = 'read_only'] = ['operations', 'read_only'].sort(
    (one, other) => report.offset([...path, other]) - report.offset([...path, one]),
  )
  const help = ['`read_only: true` is exactly `operations: [list, retrieve]`']
  report.add({
    code: 'SC304',
    path: [...path, second],
    part: 'key',
    message: 'a resource cannot have both `operations` and `read_only`',
    help,
  })
}

/** Reports fields that clients cannot set but that need a value, because then every creation fails. */
function checkWritable(resources: readonly ResourceDraft[], report: Report): void {
  const seen = new Set<FieldDraft>()
  for (const resource of resources) {
    const { model } = resource
    if (!model || offers(resource, 'create', report) !== true) continue
    for (const field of model.fields.values()) {
      if (field === undefined || seen.has(field) || report.isUncertain(field.path)) continue
      const {
        private: hidden,
        read_only,
        write_only,
        nullable,
        default: fallback,
        auto,
        primary_key,
        generated,
      } = field.yaml
      const key = hidden ? 'private' : read_only ? 'read_only' : field.type.readOnly ? 'type' : undefined
      if (
        key === undefined ||
        write_only ||
        nullable ||
        auto !== undefined ||
        generated ||
        (primary_key && keySourceOf(field, isWholeKey(model, field)) !== 'client') ||
        (fallback ?? null) !== null
      )
        continue
      seen.add(field)
      const message = `${show(field.name)} can never be written: it needs a value, and the resource ${show(resource.name)} creates records without it`
      report.add({
        code: 'SC317',
        path: [...field.path, key],
        part: 'key',
        message,
        help: [
          primary_key
            ? `leave out \`${key}\`, or leave \`create\` out of the operations`
            : field.type.readOnly
              ? 'add `nullable: true`, or leave `create` out of the operations'
              : 'add `nullable: true` or a `default`',
        ],
      })
    }
  }
}
