import { splitParameter } from '../../../lookups/index.js'
import type { Build, Declared } from '../../../features/feature.js'
import type { FeatureSpecs } from '../../../features/index.js'
import { canonicalTableName } from '../../../fields/table-name.js'
import { dialectOf, PLAIN } from '../../../dialects/index.js'
import { iexact } from '../../../lookups/iexact.js'
import { ANSWERS } from '../answers-model.js'
import { KEYS } from '../keys-model.js'
import { CORS_DEFAULTS } from '../../schema/cors.js'
import {
  columnOf,
  type Drafts,
  type FieldDraft,
  isRelation,
  isWholeKey,
  keySourceOf,
  type ModelDraft,
  referredField,
  typedOf,
} from '../drafts.js'
import { type ApiPlace, buildMount } from './build-mounts.js'
import type { BuildRuleParts } from '../check/check-auth-rules.js'
import type { FeatureBuilds } from '../check/check-resources.js'
import { buildAuth } from './build-auth.js'
import { buildRelations } from './build-relations.js'
import { readComparison } from '../index-conditions.js'
import { operationsOf } from '../resource-drafts.js'
import { labelOf } from '../../../fields/default-label.js'
import { DEFAULTS } from '../../schema/schema.js'
import {
  type ApiSpec,
  type AppSpec,
  type CorsSpec,
  type DefaultSpec,
  type FieldSpec,
  type IndexSpec,
  addedIdOf,
  type ModelSpec,
  type RelationSpec,
  type ResourceSpec,
  shownFields,
} from '../../spec.js'
import type {
  ApiYaml,
  ConfigYaml,
  CorsYaml,
  FieldYaml,
  IndexMapping,
  IndexYaml,
  ModelYaml,
  ResourceYaml,
} from '../../schema/yaml-shape.js'

/** Builds the spec of a configuration without mistakes. */
export function buildSpec(
  yaml: ConfigYaml,
  {
    drafts,
    features,
    buildRules,
  }: { readonly drafts: Drafts; readonly features: FeatureBuilds; readonly buildRules: BuildRuleParts },
  file: string,
): AppSpec {
  const api = buildApi(yaml.api ?? {})
  const declared = yaml.models ?? {}
  const tables = new Map(
    Object.entries(declared).map(([name, model]) => [
      name,
      { table: formattedName(model.table ?? name), managed: need(drafts.get(name)).isManaged },
    ]),
  )
  const models = Object.entries(declared).map(([name, model]) =>
    buildModel(need(drafts.get(name)), model, { drafts, tables }),
  )
  const byName = new Map(models.map((model) => [model.name, model]))
  const rules = buildRules(byName)
  const shown = yaml.resources ?? {}
  const resources = Object.entries(shown).map(([name, resource]) =>
    buildResource(name, resource, {
      model: need(byName.get(resource.model)),
      api,
      declared: { resources: shown, models: byName, rules },
      features: need(features.get(name)),
    }),
  )
  const mounts = (yaml.mounts ?? []).map((mount) => buildMount(mount, resources, api))
  const settings = { ...yaml.settings }
  const plugins = [...(yaml.plugins ?? [])]
  const answers = byName.get(ANSWERS)
  const keys = byName.get(KEYS)
  return freeze({
    file,
    api,
    settings,
    plugins,
    models,
    answers,
    keys,
    internal: [answers, keys].filter((model) => model !== undefined),
    auth: yaml.auth && buildAuth(yaml.auth, { title: api.title, file }),
    dropped: (yaml.dropped ?? []).map(formattedName),
    resources,
    mounts,
  })
}

function buildApi({ cors, ...given }: ApiYaml): ApiSpec {
  const { prefix, title, dialect, explore, compression, hosts = [], max_body } = { ...DEFAULTS.api, ...given }
  return {
    prefix,
    title,
    dialect,
    explore,
    compression,
    hosts: [...hosts],
    maxBody: max_body,
    publicUrl: given.public_url,
    trustedProxies: [...(given.trusted_proxies ?? [])],
    cors: cors && buildCors({ ...CORS_DEFAULTS, ...cors }),
  }
}

function buildCors({ origins, credentials, max_age, headers }: Required<CorsYaml>): CorsSpec {
  return {
    origins: [...origins],
    credentials,
    maxAge: max_age,
    headers: [...headers],
  }
}

function formattedName(table: string): string {
  return need(canonicalTableName(table))
}

/** Asserts that a part exists; the checks guarantee it. */
function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the configuration passed its checks, yet a part of it is missing')
  return value
}

interface ModelContext {
  readonly drafts: Drafts
  readonly tables: ReadonlyMap<string, Pick<ModelSpec, 'table' | 'managed'>>
}

function buildModel(draft: ModelDraft, yaml: ModelYaml, context: ModelContext): ModelSpec {
  const fields = [...draft.fields.values()].map((field) => buildField(need(field), draft, context))
  return {
    name: draft.name,
    ...need(context.tables.get(draft.name)),
    view: yaml.view?.trim().replace(/;$/, '').trimEnd(),
    renamedFrom: yaml.renamed_from === undefined ? undefined : formattedName(yaml.renamed_from),
    dropped: [...(yaml.dropped ?? [])],
    fields,
    relations: buildRelations(draft, fields, context),
    key: draft.key.map(({ name }) => need(fields.find((field) => field.name === name))),
    indexes: (yaml.indexes ?? []).map((index) => buildIndex(index, fields)),
    messages: { ...yaml.messages },
  }
}

function buildIndex(index: IndexYaml, all: readonly FieldSpec[]): IndexSpec {
  const given: IndexMapping = 'fields' in index ? index : { fields: index }
  const { unique = false, message, ignore_case = false, using = 'btree' } = given
  const named = (name: string) => need(all.find((field) => field.name === name))
  const fields = given.fields.map(named)
  const where = Object.entries(given.where ?? {}).map(([name, value]) => {
    const [fieldName, lookup] = splitParameter(name, (each) => all.some((field) => field.name === each))
    const field = named(fieldName)
    return { field, ...need(readComparison(field, { lookup, value })) }
  })
  const texts = ignore_case ? fields.filter(({ type }) => iexact.isOffered(type)) : []
  return {
    columns: fields.map(({ column }) => column),
    unique,
    message,
    method: using,
    ignoreCase: texts.map(({ column }) => column),
    where,
  }
}

function buildField(draft: FieldDraft, model: ModelDraft, context: ModelContext): FieldSpec {
  const { name, type, yaml } = draft
  const { nullable = false, unique = false, read_only = false, write_only = false, generated = false } = yaml
  const primaryKey = model.key.includes(draft)
  const assigned = primaryKey && keySourceOf(draft, isWholeKey(model, draft)) !== 'client'
  return {
    name,
    column: columnOf(draft),
    renamedFrom: yaml.renamed_from,
    label: yaml.label ?? labelOf(name),
    type,
    options: need(typedOf(draft, context.drafts)).options,
    primaryKey,
    assigned,
    nullable,
    managed: model.isManaged,
    mayBeNull: nullable || !(primaryKey || model.isManaged),
    unique,
    default: defaultOf(yaml, model),
    auto: yaml.auto,
    readOnly: read_only || generated || assigned || yaml.auto !== undefined || (type.readOnly ?? false),
    writeOnly: write_only,
    generated,
    private: yaml.private ?? false,
    message: yaml.message,
    target: isRelation(draft) ? targetOf(draft, context) : undefined,
  }
}

/** In an unmanaged table, `key: uuid` says that the service sets the key; without it, the database does. */
function defaultOf({ default: given, key }: FieldYaml, { isManaged }: ModelDraft): DefaultSpec | undefined {
  if (given === undefined) return key === 'uuid' && !isManaged ? { call: 'uuid' } : undefined
  const call = given as { readonly function?: 'now' | 'uuid' | 'database' } | null
  return typeof given === 'object' && call?.function !== undefined ? { call: call.function } : { literal: given }
}

function targetOf(draft: FieldDraft, { drafts, tables }: ModelContext): RelationSpec {
  const { model = '', on_delete = DEFAULTS.on_delete } = draft.yaml
  const field = need(referredField(draft, drafts))
  return {
    model,
    ...need(tables.get(model)),
    field: field.name,
    column: columnOf(field),
    isKey: isWholeKey(need(drafts.get(model)), field),
    onDelete: on_delete,
  }
}

interface ResourceContext {
  readonly model: ModelSpec
  readonly api: ApiPlace
  readonly declared: Pick<Declared, 'resources' | 'models' | 'rules'>
  readonly features: readonly Build<object>[]
}

function buildResource(
  name: string,
  yaml: ResourceYaml,
  { model, api, declared, features }: ResourceContext,
): ResourceSpec {
  const field = (wanted: string) => need(model.fields.find((each) => each.name === wanted))
  const dialect = dialectOf(yaml.dialect ?? (model.key.length === 0 ? PLAIN : api.dialect))
  // Each feature builds its part of them.
  const featured = Object.assign({}, ...features.map((build) => build({ ...declared, model, field }))) as FeatureSpecs
  return {
    ...featured,
    name,
    mounted: undefined,
    model,
    shown: shownFields(model),
    maxBody: api.maxBody,
    path: api.prefix + yaml.path,
    operations: operationsOf(yaml),
    dialect,
    unknownQuery: yaml.unknown_query ?? DEFAULTS.unknown_query,
    url: yaml.url ?? false,
    addedId: addedIdOf(model, dialect),
    links: { ...yaml.links },
  }
}

/** Freezes a value and all its parts, except field types, pagination styles and dialects, which the configuration does not own. */
function freeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value) as unknown[]) {
    if (typeof part === 'object' && part !== null && !('summary' in part) && !Object.isFrozen(part)) freeze(part)
  }
  return Object.freeze(value)
}
