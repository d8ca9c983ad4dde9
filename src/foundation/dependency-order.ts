/**
 * Orders items so that each comes after the items that it needs, except where items need each other; otherwise as given.
 * @param needsOf returns some of the items
 */
export function inDependencyOrder<Item>(
  items: readonly Item[],
  needsOf: (item: Item) => readonly Item[],
): readonly Item[] {
  const visited = new Set<Item>()
  const ordered: Item[] = []
  const visit = (item: Item) => {
    if (visited.has(item)) return
    visited.add(item)
    needsOf(item).forEach(visit)
    ordered.push(item)
  }
  items.forEach(visit)
  return ordered
}
