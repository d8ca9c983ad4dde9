import type { FieldSpec } from '../../config/spec.js'
import { operandSource, wantedText } from '../../features/operand-source.js'
import { hasJsonForm, toJsonText } from '../../fields/spelling/exact-json.js'
import { type JsonBody, readJsonBody } from '../../foundation/json-body.js'
import { Problem } from '../../foundation/problem.js'
import { VALUES } from '../../lookups/operands.js'
import { compileBody } from './body.js'
import type { Row } from '../plan.js'
import { parseQuery, quote } from '../query.js'
import type { CompileSchema } from '../validator.js'

/** Parses values of fields that belong to no table. Omitted fields have their default, or are null. */
export interface InputReader {
  /** @throws Problem `validation` with every error */
  body(body: JsonBody): Row
  /** @throws Problem `invalid_query`, for the first parameter that is unknown or not of its type, else with every error */
  query(search: string): Row
}

/** Compiles a parser of these fields, for bodies and query strings. */
export function compileInput(fields: readonly FieldSpec[], compile: CompileSchema): InputReader {
  const read = compileBody({ model: { fields } }, () => undefined, compile)
  const names = fields.map(({ name }) => name)
  const body = (given: JsonBody): Row => ({ ...Object.fromEntries(fields.map(preset)), ...read(given, 'create') })

  const query = (search: string): Row => {
    const given: [string, unknown][] = []
    for (const [name, text] of parseQuery(search, () => false)) {
      const field = fields.find((each) => each.name === name)
      const known = names.length === 0 ? 'this path has none' : `the parameters are ${names.join(', ')}`
      if (!field) throw new Problem('invalid_query', `${quote(name)} is not a parameter here; ${known}`)
      const value = parseItems(field, text) ?? field.type.parse(text, field.options)
      if (value === undefined || !hasJsonForm(value)) {
        const detail = `the value of ${quote(name)} ${wantedText(field)}; got ${quote(text)}`
        throw new Problem('invalid_query', detail, { errors: [{ field: name, message: detail }] })
      }
      given.push([name, value])
    }
    try {
      return body(readJsonBody(Buffer.from(toJsonText(Object.fromEntries(given)))))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      throw new Problem('invalid_query', error.message, { errors: error.errors })
    }
  }

  return { body, query }
}

/** Parses a list of values that are separated by commas; undefined if the field takes no list. An empty text is an empty list. @throws Problem `invalid_query` */
function parseItems(field: FieldSpec, text: string): readonly unknown[] | undefined {
  const { items } = operandSource({ parameter: field.name, field, readLink: undefined, maxValues: Infinity })
  return items && (text === '' ? [] : VALUES.parse(text, items))
}

function preset({ name, type, options, default: given }: FieldSpec): readonly [string, unknown] {
  if (!given || !('literal' in given) || given.literal === null) return [name, null]
  return [name, type.fromJson(given.literal, JSON.stringify(given.literal), options)]
}
