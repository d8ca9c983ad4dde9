import type { FieldSpec } from '../config/model-spec.js'
import { checkUsable, type FieldUse } from '../config/parse/field-names.js'
import { doc, listOf } from '../config/schema/parts.js'
import { itemsOf } from '../config/schema/yaml-shape.js'
import { DIALECTS } from '../dialects/index.js'
import type { FieldType } from '../fields/field-type.js'
import { isStorable } from '../fields/spelling/formats.js'
import { FIELD_TYPES } from '../fields/index.js'
import { Problem } from '../foundation/problem.js'
import { quote } from '../resource/query.js'
import type { Feature } from './feature.js'

export interface SearchSpec {
  /** The fields that lists are searched in; empty if lists have no search. */
  readonly search: readonly FieldSpec[]
}

export interface SearchPlan {
  /** Left out if the request has no search. */
  search?: Search | undefined
}

/** Each word must occur in one of the fields, in upper or lower case. */
export interface Search {
  readonly fields: readonly FieldSpec[]
  readonly words: readonly string[]
}

/** Each word is compared with each field. */
const MAX_FIELDS = 10
const MAX_CHARACTERS = 200
const MAX_WORDS = 10

/** Search applies to types that can be compared as text. */
function isText(type: FieldType): boolean {
  return type.comparisons.includes('text')
}

const SEARCHED: FieldUse = {
  used: 'searched',
  whyNot: ({ type }) => (isText(type) ? undefined : `the type \`${type.name}\` is not text`),
  help: `only fields in responses can be searched, of the types: ${FIELD_TYPES.filter(isText)
    .map(({ name }) => `\`${name}\``)
    .join(', ')}`,
}

/** `search: [title, blurb]`: lists take words, and return the records that have all of them in these fields. */
export const search: Feature<SearchSpec, SearchPlan> = {
  keys: {
    search: doc(
      listOf({}, { maxItems: MAX_FIELDS }),
      'The text fields in which `?search=` finds words.',
      'search: [title, blurb]',
    ),
  },

  synonyms: { search: ['searchable', 'search_fields'] },

  parse({ path, model, given }, { report }) {
    const names = itemsOf(given('search')).map(String)
    for (const [index, name] of names.entries()) {
      const at = [...path, 'search', index]
      if (model && !report.isInvalid(at)) checkUsable(model, name, { path: at }, { report, use: SEARCHED })
    }
    return ({ field }) => ({ search: names.map(field) })
  },

  reserves: ({ given }) =>
    given('search') === undefined ? [] : ['search', ...DIALECTS.flatMap((dialect) => dialect.search ?? [])],

  parameters({ search: fields, dialect }) {
    const name = dialect ? dialect.search : 'search'
    if (fields.length === 0 || name === undefined) return []
    const names = fields.map((field) => field.name)
    return [
      {
        name,
        on: ['list'],
        description: `Only records in which every word occurs, in upper or lower case, in one of ${names.map((each) => `\`${each}\``).join(', ')}.`,
        schema: { type: 'string', maxLength: MAX_CHARACTERS },
        typescript: 'string',
        hint: `words in ${names.join(', ')}`,
        findsText: true,
        read(text, plan) {
          plan.search = readWords(name, text, fields)
        },
      },
    ]
  },

  restrict: ({ search: fields }, { asks }) => ({ search: fields.filter(({ name }) => asks(name)) }),

  unserved: ({ search: asked }) => (asked ? ['search'] : []),

  options: ({ search: fields, operations, dialect }) =>
    fields.length > 0 && operations.includes('list') && dialect === undefined
      ? { search: fields.map(({ name }) => name) }
      : {},
}

/** @returns undefined if the text has no word, so that every record matches */
function readWords(parameter: string, text: string, fields: readonly FieldSpec[]): Search | undefined {
  const name = quote(parameter)
  if ([...text].length > MAX_CHARACTERS)
    throw new Problem('invalid_query', `${name} takes at most ${MAX_CHARACTERS} characters`)
  if (!isStorable(text))
    throw new Problem('invalid_query', `the value of ${name} must not contain U+0000 or an unpaired surrogate`)
  const words = [...new Set(text.split(/\s+/u).filter((word) => word !== ''))]
  if (words.length > MAX_WORDS) throw new Problem('invalid_query', `${name} takes at most ${MAX_WORDS} words`)
  return words.length === 0 ? undefined : { fields, words }
}
