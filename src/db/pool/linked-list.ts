/** Values in an order, each of which can be removed in constant time, wherever it is: a doubly linked list. */
export interface Chain<Value> {
  first: Link<Value> | undefined
  last: Link<Value> | undefined
  length: number
}

/** The place of a value in a chain. */
export interface Link<Value> {
  readonly value: Value
  readonly chain: Chain<Value>
  before: Link<Value> | undefined
  after: Link<Value> | undefined
}

export function createChain<Value>(): Chain<Value> {
  return { first: undefined, last: undefined, length: 0 }
}

/** Adds a value at the end. */
export function append<Value>(chain: Chain<Value>, value: Value): Link<Value> {
  const link: Link<Value> = { value, chain, before: chain.last, after: undefined }
  if (chain.last) chain.last.after = link
  else chain.first = link
  chain.last = link
  chain.length += 1
  return link
}

/** Removes a value that is in a chain: the result, to be kept in place of the link, says that it is in none. */
export function remove<Value>(link: Link<Value> | undefined): undefined {
  if (!link) return
  const { chain, before, after } = link
  if (before) before.after = after
  else chain.first = after
  if (after) after.before = before
  else chain.last = before
  chain.length -= 1
}
