import type { Random } from '../random.js'
import type { Described, Operation, Parameter } from './document.js'
import type { Ledger } from './ledger.js'
import { createMaker, type Schema, type Variant, variantsOf } from './schemas.js'

/** A request as values, before it is spelled. */
export interface Asked {
  readonly operation: Operation
  readonly path: Schema
  readonly query: Schema
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** The rule whose limit it is made of. */
  readonly rule?: string
  /** Whether the document allows it. */
  readonly isValid: boolean
}

/** Parameters whose format only their description explains, and those that only a server creates. */
const OPAQUE: ReadonlySet<string> = new Set([
  'cursor',
  's',
  'filter',
  'sort',
  'range',
  'If-None-Match',
  '_order',
  '_end',
])

const KEY = 'Idempotency-Key'

/** Makes requests of a document, about records that are in the ledger as often as there are any. */
export function createRequests(described: Described, random: Random, ledger: Ledger) {
  const make = createMaker(random, described)
  const isReadable = ({ name, in: place }: Parameter) => place === 'query' && !OPAQUE.has(name)

  const newKey = () => `key-${random.between(0, 2 ** 40)}`

  function valid(operation: Operation): Asked {
    const { path, parameters, body } = operation
    const chosen = parameters.filter((each) => each.required || (isReadable(each) && random.chance(0.25)))
    const inPlace = (place: Parameter['in']) =>
      Object.fromEntries(
        chosen.filter((each) => each.in === place).map((each) => [each.name, valueOf(path, each)] as const),
      )
    return {
      operation,
      path: inPlace('path'),
      query: inPlace('query'),
      headers: {
        ...(body && { 'content-type': random.pick(body.mediaTypes) }),
        ...(inPlace('header') as Readonly<Record<string, string>>),
      },
      body: body && linked(path, make(body.schema)),
      isValid: true,
    }
  }

  function valueOf(path: string, { name, in: place, schema }: Parameter): unknown {
    if (name === 'If-Match') return '*'
    if (name === KEY) return newKey()
    if (place === 'path' && random.chance(0.9)) return ledger.any(path, 'id', random) ?? make(schema)
    return name === 'ids' ? linked(path, make(schema)) : unrepeated(make(schema))
  }

  /** Mostly points relations at existing records, and lists of updates at different ones. */
  function linked(path: string, value: unknown, name = 'id'): unknown {
    if (Array.isArray(value)) return unrepeated(value.map((each) => linked(path, each, name)))
    if (typeof value === 'number') return (random.chance(0.9) ? ledger.any(path, name, random) : undefined) ?? value
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, linked(path, each, member)]))
  }

  /** Requests with one value at or beyond a limit: some of them, from the given position in their order. */
  function variants(operation: Operation, from: number, most: number): readonly Asked[] {
    const asked = valid(operation)
    const all = [...variantsOfBody(asked), ...variantsOfQuery(asked)]
    const start = from % (all.length || 1)
    return [...all, ...all].slice(start, start + Math.min(most, all.length)).map(({ schema, value, ...parts }) => ({
      ...asked,
      ...parts,
      headers: { ...asked.headers, ...(KEY in asked.headers && { [KEY]: newKey() }) },
      isValid: described.isValid(schema, value),
    }))
  }

  function variantsOfBody({ operation, body }: Asked) {
    const schema = operation.body?.schema
    if (schema === undefined) return []
    return variantsOf(schema, body, described).map(({ rule, value }) => ({
      ...{ schema, value },
      ...{ body: value, rule: `body ${rule}` },
    }))
  }

  function variantsOfQuery({ operation, query }: Asked) {
    return operation.parameters.filter(isReadable).flatMap(({ name, schema, explode }) =>
      variantsOf(schema, make(schema), described)
        .filter((variant) => isSayable(variant, explode) && !isText(schema, variant))
        .map(({ rule, value }) => ({
          ...{ schema, value },
          ...{ query: { ...query, [name]: value }, rule: `${name} ${rule}` },
        })),
    )
  }

  /** No items at all are spelled like one that is an empty text. */
  function isText(schema: Schema, { value }: Variant): boolean {
    return Array.isArray(value) && value.length === 0 && described.isValid(schema, [''])
  }

  return { valid, variants }
}

/** An order does not have a field in both directions, nor a list of records one of them twice: no schema says so. */
function unrepeated(items: unknown): unknown {
  if (!Array.isArray(items)) return items
  const nameOf = (item: unknown) =>
    typeof item === 'object' && item !== null ? ((item as Schema)['id'] ?? item) : String(item).replace(/^-/, '')
  return [...new Map(items.map((item) => [nameOf(item), item])).values()]
}

/**
 * A query is text: a number in it is one, a text is never of another type, and nothing is an empty list. Where a parameter is repeated, each
 * value counts once, so that the same one is never too many.
 */
function isSayable({ rule, value }: Variant, explode: boolean | undefined): boolean {
  if (/(?:^|: )(?:type|null|anyOf)$/.test(rule) || (rule === 'maxItems' && explode !== false)) return false
  return !(Array.isArray(value) && value.length === 0 && explode !== false)
}

/** A request as it is sent. */
export function format({ operation, path, query, headers, body }: Asked): {
  readonly url: string
  readonly init: RequestInit & { readonly body?: string }
} {
  const { method, parameters } = operation
  const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])))
  const pairs = parameters.flatMap(({ name, explode = true }): readonly string[] => {
    const value = query[name]
    if (value === undefined) return []
    const values = Array.isArray(value)
      ? value.map((each) => encodeURIComponent(String(each)))
      : [encodeURIComponent(String(value))]
    return explode ? values.map((each) => `${name}=${each}`) : [`${name}=${values.join(',')}`]
  })
  return {
    url: pairs.length === 0 ? url : `${url}?${pairs.join('&')}`,
    init: { method, headers: { ...headers }, ...(body !== undefined && { body: JSON.stringify(body) }) },
  }
}
