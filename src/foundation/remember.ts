/** Memoises a function of an object. Values are dropped with their objects. */
export function remember<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>()
  return (key) => {
    const known = made.get(key)
    if (known) return known.value
    const value = make(key)
    made.set(key, { value })
    return value
  }
}

/**
 * Memoises a function of a text. A text that is remembered gives the same value each time, until `maxEntries` others were made after it.
 * @param make must not return undefined
 */
export function rememberByText<Value extends object | string>(
  maxEntries: number,
  make: (text: string) => Value,
): (text: string) => Value {
  const made = new Map<string, Value>()
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    if (made.size >= maxEntries) made.delete(made.keys().next().value ?? '')
    const value = make(text)
    made.set(text, value)
    return value
  }
}
