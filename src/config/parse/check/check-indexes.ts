import type { Json } from '../../../foundation/json.js'
import { iexact } from '../../../lookups/iexact.js'
import { lookupsOfType, splitParameter } from '../../../lookups/index.js'
import { PURPOSE, supportsType } from '../../indexes/index-methods.js'
import { type IndexMapping, type IndexYaml, itemsOf, membersOf } from '../../schema/yaml-shape.js'
import { describe, show } from '../../words.js'
import { findValue, type Path } from '../../yaml/located.js'
import { brokenRule, type ValidateValue } from './check-fields.js'
import { type Drafts, type ModelDraft, typedOf } from '../drafts.js'
import { checkFieldName } from '../field-names.js'
import { readComparison, UnfitValue } from '../index-conditions.js'
import type { Report } from '../report.js'

interface IndexContext {
  readonly drafts: Drafts
  readonly report: Report
  readonly validate: ValidateValue
}

/** Reports mistakes in the indexes of a model. */
export function checkIndexes(root: Json, model: ModelDraft, context: IndexContext): void {
  const { report } = context
  const seen = new Set<string>()
  const path = [...model.path, 'indexes']
  for (const [position, json] of itemsOf(findValue(root, path)).entries()) {
    const at = [...path, position]
    if (report.isInvalid(at)) continue
    const index = json as unknown as IndexYaml
    const plain = !('fields' in index)
    const fields = plain ? index : index.fields
    for (const [order, name] of fields.entries()) {
      checkFieldName(model, name, { path: [...at, ...(plain ? [order] : ['fields', order])] }, report)
    }
    if (!plain) checkMapping(model, index, { ...context, at })
    const key = JSON.stringify([fields, ...(plain ? [] : settingsOf(index))])
    if (seen.has(key))
      report.add({ code: 'SC316', path: at, message: 'an index on these fields is already declared above' })
    seen.add(key)
  }
}

/** The settings that distinguish indexes on the same fields. */
function settingsOf({ ignore_case, where, using = 'btree' }: IndexMapping): readonly Json[] {
  const conditions = Object.entries(where ?? {})
    .map((each) => JSON.stringify(each))
    .sort()
  return ignore_case === true || using !== 'btree' || where !== undefined
    ? [ignore_case ?? false, using, conditions]
    : []
}

interface MappingContext extends IndexContext {
  readonly at: Path
}

function checkMapping(model: ModelDraft, index: IndexMapping, { at, ...context }: MappingContext): void {
  const { drafts, report, validate } = context
  const unique = index.unique === true
  if (index.message !== undefined && !unique) {
    const help = ['add `unique: true`, or remove it']
    const message = '`message` has no effect: the index is not unique'
    report.add({ code: 'SC319', path: [...at, 'message'], part: 'key', message, help })
  }
  const typed = index.fields.flatMap((name) => {
    const field = model.fields.get(name)
    const found = field && typedOf(field, drafts)
    return found ? [{ name, ...found }] : []
  })
  if (
    index.ignore_case === true &&
    typed.length === index.fields.length &&
    !typed.some(({ type }) => iexact.isOffered(type))
  ) {
    const message = '`ignore_case` has no effect: no field of the index is a text'
    report.add({ code: 'SC319', path: [...at, 'ignore_case'], part: 'key', message, help: ['remove it'] })
  }
  const { using = 'btree' } = index
  const place = { path: [...at, 'using'] } as const
  if (using !== 'btree' && (unique || index.ignore_case === true)) {
    const message = `an index of the kind \`${using}\` cannot have \`${unique ? 'unique' : 'ignore_case'}\``
    report.add({ ...place, code: 'SC304', message, help: ['remove one of them'] })
  } else if (using === 'hash' && index.fields.length > 1) {
    const message = 'an index of the kind `hash` has one field'
    report.add({ ...place, code: 'SC304', message, help: ['declare one for each field, or remove `using`'] })
  } else {
    const wrong = typed.find(({ type }) => !supportsType(using, type))
    if (wrong) {
      const message = `an index of the kind \`${using}\` cannot have ${show(wrong.name)}, which is of the type \`${wrong.type.name}\``
      report.add({ ...place, code: 'SC315', message, help: [`\`${using}\` is for ${PURPOSE[using]}`] })
    }
  }
  for (const [name, value] of membersOf(findValue(index as unknown as Json, ['where'])))
    checkCondition(model, { name, value, path: [...at, 'where', name] }, { drafts, report, validate })
}

interface ConditionPlace {
  readonly name: string
  readonly value: Json
  readonly path: Path
}

function checkCondition(model: ModelDraft, { name, value, path }: ConditionPlace, context: IndexContext): void {
  const { drafts, report, validate } = context
  const [fieldName, lookup] = splitParameter(name, (each) => model.fields.has(each))
  if (!checkFieldName(model, fieldName, { path, part: 'key' }, report)) return
  const field = model.fields.get(fieldName)
  const typed = field && typedOf(field, drafts)
  if (!field || !typed || report.isUncertain(field.path)) return
  try {
    const rule = (given: Json) => brokenRule(typed.type, typed.options, given, validate)
    if (readComparison(typed, { lookup, value }, rule)) return
    const message = `the type \`${typed.type.name}\` of ${show(fieldName)} has no lookup \`${lookup}\``
    const help = [
      `its lookups: ${lookupsOfType(typed.type)
        .map((each) => each.name)
        .join(', ')}`,
    ]
    report.add({ code: 'SC312', path, part: 'key', message, help })
  } catch (error) {
    if (!(error instanceof UnfitValue)) throw error
    report.add({ code: 'SC315', path, message: `the condition ${show(name)} ${error.message}; got ${describe(value)}` })
  }
}
