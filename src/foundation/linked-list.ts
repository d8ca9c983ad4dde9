/**
 * A doubly linked list, so that any value can be removed in constant time. Values that come and go with requests belong here: a Map or Set replaces
 * its table again and again, and each old table keeps the next one alive, with its removed values, until a full garbage collection.
 */
export interface LinkedList<Value> {
  first: ListNode<Value> | undefined
  last: ListNode<Value> | undefined
  length: number
}

/** A value's position in a list. */
export interface ListNode<Value> {
  readonly value: Value
  readonly list: LinkedList<Value>
  before: ListNode<Value> | undefined
  after: ListNode<Value> | undefined
}

export function createLinkedList<Value>(): LinkedList<Value> {
  return { first: undefined, last: undefined, length: 0 }
}

/** Appends a value. */
export function append<Value>(list: LinkedList<Value>, value: Value): ListNode<Value> {
  const node: ListNode<Value> = { value, list, before: list.last, after: undefined }
  if (list.last) list.last.after = node
  else list.first = node
  list.last = node
  list.length += 1
  return node
}

/**
 * Removes a node from its list. Returns undefined, to be assigned to the variable that held the node.
 *
 * It unlinks the node in both directions: a removed node in the old generation would keep all later ones from minor garbage collections.
 */
export function remove<Value>(node: ListNode<Value> | undefined): undefined {
  if (!node) return
  const { list, before, after } = node
  if (before) before.after = after
  else list.first = after
  if (after) after.before = before
  else list.last = before
  list.length -= 1
  node.before = undefined
  node.after = undefined
}

export function valuesOf<Value>(list: LinkedList<Value>): readonly Value[] {
  const values: Value[] = []
  for (let node = list.first; node; node = node.after) values.push(node.value)
  return values
}
