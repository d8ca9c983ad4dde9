import { exchangeOf } from '../server/exchange.js'
import type { Context } from '../route.js'

/**
 * A value of each request, such as its tenant: a middleware sets it, and every handler, hook and action of the request can read it.
 */
export interface Value<Type> {
  /** Sets the value for the request of this context. */
  set(context: Context, value: Type): void
  /** The value of the request; undefined if nothing set it. */
  get(context: Context): Type | undefined
}

/** `name` is only used in messages; every call creates a separate value. */
export function createValue<Type>(name: string): Value<Type> {
  const key = Symbol(name)
  const valuesOf = (context: Context): Map<symbol, unknown> => {
    const exchange = exchangeOf(context)
    if (!exchange)
      throw new TypeError(`the value \`${name}\` belongs to requests, and this context does not belong to a request`)
    return (exchange.values ??= new Map())
  }
  return Object.freeze<Value<Type>>({
    set: (context, value) => void valuesOf(context).set(key, value),
    get: (context) => valuesOf(context).get(key) as Type | undefined,
  })
}
