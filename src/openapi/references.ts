import type { JsonSchema } from '../foundation/json.js'
import type { JsonPart } from './json-part.js'

const SCHEMA = /^#\/components\/schemas\/([^/]+)((?:\/.+)?)$/

/** Keywords whose members are schemas by name. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
/** Keywords whose values are data, not schemas. */
export const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples'])

/**
 * Resolves references so that all of them name a component. Most generators support no others, so a reference into a component, such as
 * `#/components/schemas/Book/properties/id`, is replaced by its target.
 * @throws Error for a broken reference
 */
export function resolveReferences(schema: JsonSchema, components: JsonPart): JsonSchema {
  const resolve = (part: unknown, within: readonly string[]): JsonSchema => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part as JsonSchema
    const { $ref: pointer, ...beside } = part as JsonSchema
    if (typeof pointer !== 'string') return resolveMembers(beside, within)
    const { isComponent, found } = follow(pointer, components)
    if (isComponent) return part as JsonSchema
    if (within.includes(pointer)) throw new Error(`the reference ${pointer} leads back to itself`)
    return resolveMembers({ ...found, ...beside }, [...within, pointer])
  }

  const resolveMembers = (schema: JsonSchema, within: readonly string[]): JsonSchema =>
    mapMembers(schema, (value, keyword) => {
      if (DATA.has(keyword)) return value
      if (Array.isArray(value)) return value.map((each) => resolve(each, within))
      return MAPS.has(keyword) ? mapMembers(value as JsonPart, (each) => resolve(each, within)) : resolve(value, within)
    })

  return resolve(schema, [])
}

function follow(pointer: string, components: JsonPart): { readonly isComponent: boolean; readonly found: JsonPart } {
  const [, name = '', rest = ''] = SCHEMA.exec(pointer) ?? []
  const found = rest.split('/').slice(1).map(unescape).reduce(memberOf, components[name])
  if (typeof found === 'object' && found !== null) return { isComponent: rest === '', found: found as JsonPart }
  const names = Object.keys(components).join(', ')
  throw new Error(`the reference ${pointer} leads nowhere; the schemas below #/components/schemas/ are ${names}`)
}

function memberOf(part: unknown, name: string): unknown {
  return typeof part === 'object' && part !== null ? (part as JsonPart)[name] : undefined
}

function unescape(name: string): string {
  return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
}

function mapMembers(part: JsonPart, map: (value: unknown, name: string) => unknown): JsonPart {
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, map(value, name)]))
}
