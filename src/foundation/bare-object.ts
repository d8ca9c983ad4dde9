const Bare = function () {} as unknown as new () => Record<string, never>
Bare.prototype = Object.create(null)

/**
 * Creates an object that inherits nothing, so every name is safe as a key. Unlike an object from `Object.create(null)`, which V8 stores as a hash table,
 * it shares its shape with objects that have the same keys, which makes access faster.
 */
export function bareObject<Value>(): Record<string, Value> {
  return new Bare()
}
