import { EXPANDED, type ExpansionSpec, isReading, READS } from '../config/core-spec.js'
import { isOptional, type ModelSpec, shownFields } from '../config/model-spec.js'
import { hasMember, isRelation, type ModelDraft, whyHidden, whyPartHidden } from '../config/parse/drafts.js'
import { checkFieldName, type NamePlace } from '../config/parse/field-names.js'
import { operationsOf, offers, type ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, FIELD_NAME, listOf, mapping } from '../config/schema/parts.js'
import { membersOf, type ResourceYaml } from '../config/schema/yaml-shape.js'
import { nameOf, show, suggest } from '../config/words.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import { Problem } from '../foundation/problem.js'
import type { Declared, DescribeRecord, Feature, Scope } from './feature.js'
import { readNames, someOf } from './names.js'
import { pathsOf, select, type SelectionPlan } from './selection.js'

export interface ExpandSpec {
  /** The related records that clients can ask for. */
  readonly expand: readonly ExpansionSpec[]
}

const MAX_EXPANSIONS = 20
/** The maximum number of relations in one request: each is looked up once for each record. */
const MAX_EXPANDED = 10
const RELATIONS = `^${FIELD_NAME}(\\.${FIELD_NAME}){0,2}$`
const RELATIONS_HINT = 'an expansion is a relation, or up to three relations joined by dots, such as `author.publisher`'

/** `expand: [author]`: responses include related records if a request names their relations. */
export const expand: Feature<ExpandSpec, SelectionPlan> = {
  plainOnly: true,
  selects: ['expand'],

  keys: {
    expand: doc(
      expandSchema(),
      'Relations that `?expand=` can include: names, joined by dots for relations of relations, or a mapping with the resource and the fields of each.',
      'expand: [author]\nexpand: { author: { resource: author, fields: [id, name] } }',
    ),
  },

  synonyms: { expand: ['include', 'populate', 'embed'] },

  parse(resource, scope) {
    if (resource.model) checkExpansions(resource, resource.model, scope)
    const expansions = expansionsOf(resource.given('expand'))
    return (declared) => ({ expand: buildExpansions(expansions, declared) })
  },

  reserves: ({ given }) => (given('expand') === undefined ? [] : ['expand']),

  parameters({ expand: expansions }) {
    if (expansions.length === 0) return []
    const paths = pathsOf(expansions)
    return [
      {
        name: 'expand',
        on: READS,
        description: `The related records to include under \`${EXPANDED}\`, next to their keys.`,
        several: true,
        schema: {
          type: 'array',
          items: { type: 'string', enum: paths },
          minItems: 1,
          uniqueItems: true,
          maxItems: MAX_EXPANDED,
        },
        typescript: someOf(paths),
        read(text, plan) {
          const asked = readNames('expand', text, paths)
          if (asked.length > MAX_EXPANDED)
            throw new Problem('invalid_query', `the parameter \`expand\` takes at most ${MAX_EXPANDED} relations`)
          select(plan, { expand: prune(expansions, asked) })
        },
      },
    ]
  },

  joins: ({ expand: expansions }, describe) => expandedMember(expansions, describe),

  options: ({ expand: expansions }) => (expansions.length > 0 ? { expand: pathsOf(expansions) } : {}),

  restrict: ({ expand: expansions }, { expansion }) => ({
    expand: expansions.flatMap((each) => expansion(each) ?? []),
  }),

  mount: ({ expand: expansions }, at) => {
    const within = (expansion: ExpansionSpec): ExpansionSpec => ({
      ...expansion,
      resource: at.resource(expansion.resource),
      links: at.links(expansion.links),
      expand: expansion.expand.map(within),
    })
    return { expand: expansions.map(within) }
  },
}

function expandedMember(expansions: readonly ExpansionSpec[], describe: DescribeRecord): Record<string, JsonSchema> {
  if (expansions.length === 0) return {}
  const related = expansions.map((expansion) => {
    const shown = describe(expansion)
    const schema = {
      type:
        isOptional(expansion.relation) || expansion.varies || expansion.rows !== undefined
          ? ['object', 'null']
          : 'object',
      description: `The related record, as in \`${expansion.resource}\`.`,
      properties: { ...shown, ...expandedMember(expansion.expand, describe) },
      required: expansion.varies ? [] : Object.keys(shown),
    }
    return [expansion.relation.name, schema] as const
  })
  const description = 'The related records that `expand` asks for, by the names of their relations.'
  return { [EXPANDED]: { type: 'object', readOnly: true, description, properties: Object.fromEntries(related) } }
}

function expandSchema(): JsonSchema {
  const path = { pattern: RELATIONS, patternErrorMessage: RELATIONS_HINT }
  const long = mapping('an expansion', {
    resource: doc(
      { type: 'string' },
      'The resource that defines the fields of the related record; by default the only one of its model.',
      'resource: author',
    ),
    fields: doc(listOf({}), 'The fields of the related record; by default those of its resource.'),
  })
  const mapped = { type: 'object', propertyNames: path, additionalProperties: long, maxProperties: MAX_EXPANSIONS }
  return {
    type: ['array', 'object'],
    if: { type: 'array' },
    then: listOf(path, { maxItems: MAX_EXPANSIONS }),
    else: mapped,
  }
}

/** A declared expansion: its path, its place under `expand`, and its settings. */
interface Expansion {
  readonly path: string
  readonly place: string | number
  readonly yaml: { readonly resource?: string; readonly fields?: readonly string[] }
}

function expansionsOf(given: Json | undefined): readonly Expansion[] {
  return Array.isArray(given)
    ? (given as readonly Json[]).map((path, place) => ({ path: nameOf(path), place, yaml: {} }))
    : membersOf(given).map(([path, yaml]) => ({ path, place: path, yaml: yaml as Expansion['yaml'] }))
}

/** The requested expansions, and those on the way to them. */
function prune(expansions: readonly ExpansionSpec[], asked: readonly string[]): readonly ExpansionSpec[] {
  return expansions
    .filter(({ path }) => asked.some((name) => name === path || name.startsWith(`${path}.`)))
    .map((expansion) => ({ ...expansion, expand: prune(expansion.expand, asked) }))
}

/** The related records that a resource offers, and the records related to these. */
function buildExpansions(all: readonly Expansion[], declared: Declared): readonly ExpansionSpec[] {
  const below = (start: string, from: ModelSpec): readonly ExpansionSpec[] =>
    all
      .filter(({ path }) => path.slice(0, path.lastIndexOf('.') + 1) === start)
      .flatMap(({ path, yaml }): readonly ExpansionSpec[] => {
        const relation = from.relations.find(({ name }) => start + name === path)
        const model = declared.models.get(relation?.target.model ?? '')
        if (relation === undefined || model === undefined) return []
        const [resource, shown] = resourceOf(model, yaml.resource, declared)
        const visible = shownFields(model)
        return [
          {
            path,
            relation,
            resource,
            model,
            fields: visible.filter(({ name }) => yaml.fields?.includes(name) ?? true),
            url: (yaml.fields === undefined && shown.url) ?? false,
            varies: shown.access !== undefined,
            links: { ...shown.links },
            expand: below(`${path}.`, model),
          },
        ]
      })
  return below('', declared.model)
}

/** The named resource, or the only one that returns records of the model. */
function resourceOf(model: ModelSpec, wanted: string | undefined, { resources }: Declared) {
  const reads = (yaml: ResourceYaml) => operationsOf(yaml).some(isReading)
  const found = Object.entries(resources).find(([name, yaml]) =>
    wanted === undefined ? yaml.model === model.name && reads(yaml) : name === wanted,
  )
  // The checks have made sure of it.
  if (found === undefined) throw new Error(`no resource shows ${model.name}`)
  return found
}

/** Reports related records that cannot be included. */
function checkExpansions({ path: start, given }: ResourceDraft, model: ModelDraft, context: Scope): void {
  const { report } = context
  const at = [...start, 'expand']
  if (report.isInvalid(at)) return
  const expansions = expansionsOf(given('expand'))
  const paths = new Set(expansions.map(({ path }) => path))
  for (const { path, place, yaml } of expansions) {
    const where: NamePlace = { path: [...at, place], ...(typeof place === 'string' && { part: 'key' }) }
    if (report.isInvalid(where.path)) continue
    const parent = path.split('.').slice(0, -1).join('.')
    if (parent !== '' && !paths.has(parent)) {
      const message = `${show(path)} needs ${show(parent)}, which is not declared here`
      report.add({ ...where, code: 'SC321', message, help: [`add ${show(parent)} to \`expand\``] })
      continue
    }
    const target = followPath(path, model, where, context)
    if (target === undefined) continue
    checkResource(target, yaml.resource, where, context)
    for (const [index, name] of (yaml.fields ?? []).entries()) {
      const placed = { path: [...where.path, 'fields', index] }
      if (!report.isInvalid(placed.path)) checkShown(target, name, placed, context)
    }
  }
}

/** The model to which relations lead. */
function followPath(
  path: string,
  from: ModelDraft,
  where: NamePlace,
  { models, report }: Scope,
): ModelDraft | undefined {
  let model: ModelDraft | undefined = from
  for (const name of path.split('.')) {
    const joint = model.relations.get(name)
    if (!model.relations.has(name) && !checkFieldName(model, name, where, report)) return undefined
    const field = model.fields.get(name)
    const relation = joint ?? field
    if (relation === undefined) return undefined
    const reason = joint
      ? whyPartHidden(joint, model)
      : field && (isRelation(field) ? whyHidden(field) : 'it is not a relation')
    if (reason !== undefined) {
      const relations = [
        ...[...model.fields].flatMap(([own, each]) => (each && isRelation(each) ? [show(own)] : [])),
        ...[...model.relations.keys()].map(show),
      ]
      const help = [relations.length > 0 ? `relations are ${relations.join(', ')}` : 'this model has no relation']
      report.add({ ...where, code: 'SC311', message: `${show(name)} cannot be expanded: ${reason}`, help })
      return undefined
    }
    if (hasMember(model, EXPANDED)) {
      const message = `the model ${show(model.name)} already has a field \`${EXPANDED}\``
      report.add({ ...where, code: 'SC304', message })
      return undefined
    }
    model = models.get(relation.yaml.model ?? '')
    if (model === undefined) return undefined
  }
  return model
}

function checkResource(
  { name: model }: ModelDraft,
  wanted: string | undefined,
  where: NamePlace,
  { resources, report }: Scope,
): void {
  const reading = resources
    .filter(({ yaml }) => yaml.model === model)
    .filter((each) => READS.some((operation) => offers(each, operation, report) !== false))
    .map(({ name }) => name)
  if (wanted !== undefined) {
    if (reading.includes(wanted)) return
    const message = `no resource ${show(wanted)} returns ${show(model)} records`
    const path = [...where.path, 'resource']
    report.add({ code: 'SC321', path, message, help: suggest(wanted, reading, 'resource') })
  } else if (reading.length !== 1) {
    const known = reading.map(show).join(', ')
    const [message, help] =
      reading.length === 0
        ? [
            `no resource returns ${show(model)} records`,
            `add a resource of the model ${show(model)} that lists or retrieves`,
          ]
        : [`several resources return ${show(model)} records`, `choose one with \`resource\`: ${known}`]
    report.add({ ...where, code: 'SC321', message, help: [help] })
  }
}

function checkShown(model: ModelDraft, name: string, place: NamePlace, { report }: Scope): void {
  if (!checkFieldName(model, name, place, report)) return
  const field = model.fields.get(name)
  const reason = field && whyHidden(field)
  if (reason !== undefined) report.add({ ...place, code: 'SC311', message: `${show(name)} cannot be shown: ${reason}` })
}
