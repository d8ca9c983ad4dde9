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

/** A value by its text, made if it is not kept. `grow` adds to the weight of the value, which is 1 at first. */
type FindRecent<Value> = (text: string, make: (grow: (weight: number) => void) => Value) => Value

interface Weighed<Value> {
  value?: Value
  weight: number
}

/**
 * Keeps values by their texts, those used last, up to a total weight. They lie in two halves, so that a use changes nothing: when the newer half is
 * full, the older one is dropped, and its place taken by the newer. A value that is used again moves to the newer half.
 */
export function keepRecent<Value extends object>(maxWeight: number): FindRecent<Value> {
  let older = new Map<string, Weighed<Value>>()
  let newer = new Map<string, Weighed<Value>>()
  let weight = 0
  const turn = (): void => {
    older = newer
    newer = new Map()
    weight = 0
  }
  return (text, make) => {
    const known = newer.get(text)?.value
    if (known) return known
    const entry = older.get(text) ?? { weight: 1 }
    const value = (entry.value ??= make((more) => {
      entry.weight += more
      if (newer.get(text) !== entry) return
      weight += more
      if (weight > maxWeight / 2 && newer.size > 1) turn()
    }))
    if (weight + entry.weight > maxWeight / 2 && newer.size > 0) turn()
    newer.set(text, entry)
    weight += entry.weight
    return value
  }
}
