import { FIELD_TYPES, isFieldName, type JsonSchema } from '../../src/internal.js'
import { Failure } from '../failure.js'
import { similarHelp } from '../similar.js'

/** @throws Failure 2 if the text is not a valid name */
export function requireName(what: 'field' | 'resource', name: string): void {
  if (what === 'field' ? isFieldName(name) : /^[a-z][a-z0-9_]{0,62}$/.test(name)) return
  const near = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/^[^a-z]+/, '')
  throw new Failure(
    2,
    `\`${name}\` is not a valid name of a ${what}: use a ${what === 'field' ? '' : 'lower-case '}letter, then letters, digits and \`_\``,
    [...(near === '' ? [] : [`for example: ${near}`])],
  )
}

/**
 * Parses a field such as `title:string!`.
 * @throws Failure 2 if the field is malformed, or its type is unknown or lacks a required option
 */
export function readField(words: string): { readonly name: string; readonly spelled: string } {
  const found = /^([^:]*):([^=!]*)(?:=([^!]*))?(!?)$/.exec(words)
  if (!found) throw new Failure(2, `\`${words}\` is not a field`, ['write it as NAME:TYPE: title:string!'])
  const [, name = '', typeName = '', values, mark] = found
  requireName('field', name)
  if (name === 'id') throw new Failure(2, 'every resource has the field `id` already', ['leave it out'])
  const type = FIELD_TYPES.find((each) => each.name === typeName)
  if (!type) {
    const names = FIELD_TYPES.map((each) => each.name)
    const help = similarHelp(typeName, names, { singular: 'type', plural: 'types' })
    throw new Failure(2, `no field type is called \`${typeName}\``, help)
  }
  const keys = [
    `type: ${type.name}`,
    ...readOptions(words, {
      names: type.required ?? (values === undefined ? [] : (type.together ?? [])),
      schemas: type.options,
      values,
    }),
    ...(mark === '' ? ['nullable: true'] : []),
  ]
  return { name, spelled: `{ ${keys.join(', ')} }` }
}

interface WantedOptions {
  /** The options of the field, in order. */
  readonly names: readonly string[]
  readonly schemas: Readonly<Record<string, JsonSchema>>
  /** The text after the type, if any. */
  readonly values: string | undefined
}

/** Takes one value for each option; a list takes all remaining values. */
function readOptions(words: string, { names, schemas, values }: WantedOptions): readonly string[] {
  const given = values === undefined ? [] : values.split(',')
  const takesAll = names.some((name) => schemas[name]?.['type'] === 'array')
  const fits = takesAll ? given.length > 0 : given.length === names.length
  if (fits && given.every((value) => /^[A-Za-z0-9_ .-]+$/.test(value))) {
    return names.map((name, at) => {
      if (takesAll) return `${name}: [${given.join(', ')}]`
      return schemas[name]?.['type'] === 'object' ? `${name}: { type: ${given[at]} }` : `${name}: ${given[at]}`
    })
  }
  const [type] = words.split(/[=!]/)
  throw new Failure(2, `the field \`${words}\` lacks the options of its type`, [
    names.length === 0
      ? `it takes nothing: ${type}`
      : `write it as ${type}=${names.map((name) => name.toUpperCase()).join(',')}`,
  ])
}
