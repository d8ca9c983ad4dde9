/** One operation on one register, as its client saw it. Times are of one clock. */
export interface Operation {
  readonly start: number
  /** Infinity when its outcome is not known: it may take effect at any time, or never. */
  readonly end: number
  /** The written or read value. */
  readonly kind: 'write' | 'read'
  readonly value: string
}

/**
 * Whether a history can be explained by operations that each took effect at one moment between its start and its end: the search of Wing and
 * Gong, which remembers the states that it has been in.
 */
export function isLinearizable(history: readonly Operation[], initial: string): boolean {
  // A read without a response says nothing.
  const operations = history.filter(({ kind, end }) => kind === 'write' || end !== Infinity)
  const all = (1n << BigInt(operations.length)) - 1n
  const certain = operations.reduce((mask, { end }, at) => (end === Infinity ? mask : mask | (1n << BigInt(at))), 0n)
  const seen = new Set<string>()
  const stack: { readonly done: bigint; readonly value: string }[] = [{ done: 0n, value: initial }]
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    const { done, value } = state
    if ((done & certain) === certain || done === all) return true
    const key = `${done} ${value}`
    if (seen.has(key)) continue
    seen.add(key)
    const left = operations
      .map((operation, at) => ({ operation, bit: 1n << BigInt(at) }))
      .filter(({ bit }) => (done & bit) === 0n)
    // An operation that has ended precedes those that had not begun by then.
    const horizon = Math.min(...left.map(({ operation }) => operation.end))
    for (const { operation, bit } of left) {
      if (operation.start > horizon) continue
      if (operation.kind === 'write') stack.push({ done: done | bit, value: operation.value })
      else if (operation.value === value) stack.push({ done: done | bit, value })
    }
  }
  return false
}
