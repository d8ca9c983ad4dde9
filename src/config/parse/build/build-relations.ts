import { derivedField } from '../../derived-field.js'
import { joined } from '../../../fields/joined.js'
import { type FieldSpec, isShown, type ModelRelation, type ModelSpec } from '../../model-spec.js'
import { DEFAULTS } from '../../schema/schema.js'
import { labelOf } from '../../../fields/default-label.js'
import { areWholeKey, columnOf, type Drafts, type ModelDraft, type RelationDraft, referredFields } from '../drafts.js'

interface Context {
  readonly drafts: Drafts
  readonly tables: ReadonlyMap<string, Pick<ModelSpec, 'table' | 'managed'>>
}

/** The relations of a model: of one field, and over several fields. */
export function buildRelations(
  draft: ModelDraft,
  fields: readonly FieldSpec[],
  context: Context,
): readonly ModelRelation[] {
  return [
    ...fields.flatMap((field): readonly ModelRelation[] => {
      const { name, target } = field
      if (target === undefined) return []
      const to = { name: target.field, column: target.column }
      return [{ name, target, parts: [{ field, to }], member: undefined }]
    }),
    ...[...draft.relations.values()].map((relation) => buildJoined(need(relation), fields, context)),
  ]
}

function buildJoined(
  relation: RelationDraft,
  fields: readonly FieldSpec[],
  { drafts, tables }: Context,
): ModelRelation {
  const { name, yaml } = relation
  const target = need(drafts.get(yaml.model))
  const referred = referredFields(relation, target)
  const isKey = areWholeKey(target, referred)
  const given = yaml.fields.map((own, place) => {
    const field = need(fields.find((each) => each.name === own))
    const to = need(target.fields.get(need(referred[place])))
    return { field, to: { name: to.name, column: columnOf(to) } }
  })
  // Paths have the parts in the order of the key.
  const parts = isKey ? target.key.map(({ name: part }) => need(given.find(({ to }) => to.name === part))) : given
  const nullable = parts.some(({ field }) => field.nullable)
  const to = {
    model: target.name,
    ...need(tables.get(target.name)),
    isKey,
    onDelete: yaml.on_delete ?? DEFAULTS.on_delete,
  }
  const member = derivedField({
    name,
    label: yaml.label ?? labelOf(name),
    type: joined,
    options: { parts: parts.map(({ field, to }) => ({ name: to.name, type: field.type, options: field.options })) },
    nullable,
    joined: { target: to, parts },
  })
  return {
    name,
    target: to,
    parts,
    member: parts.every(({ field }) => isShown(field)) ? member : undefined,
  }
}

/** Asserts that a part exists; the checks guarantee it. */
function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the configuration passed its checks, yet a part of it is missing')
  return value
}
