const Bare = function () {} as unknown as new () => Record<string, never>
Bare.prototype = Object.create(null)

/**
 * An object without inherited members, whatever names its own have. V8 gives those with the same members one shape, unlike those of
 * `Object.create(null)`, whose members it looks up in a hash table.
 */
export function bareObject<Value>(): Record<string, Value> {
  return new Bare()
}
