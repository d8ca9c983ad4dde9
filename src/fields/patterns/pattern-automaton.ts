import type { CharacterSet, PatternNode } from './pattern-syntax.js'

/** A state of Thompson's automaton; other states are named by their numbers. */
type State =
  | { readonly kind: 'read'; readonly takes: readonly boolean[]; readonly next: number }
  | { readonly kind: 'fork'; readonly next: readonly number[] }
  | { readonly kind: 'anchor'; readonly at: '^' | '$'; readonly next: number }
  | { readonly kind: 'match' }

/** Where in the text a state is reached: at the start, at the end, both (the text is empty), or neither. */
interface TextPosition {
  readonly start: boolean
  readonly end: boolean
}

/**
 * An automaton that searches a text for a pattern. It never backtracks: the states after a character depend only on the states before it.
 * Its sets of states contain only states that read a character, each `$` that is passed only at the end, and the state of a match.
 */
export interface Automaton {
  /** The maximum number of states that are examined for one character. */
  readonly steps: number
  /** The number of classes of characters that the pattern distinguishes. */
  readonly classes: number
  /** The classes of the ASCII characters. */
  readonly ascii: Uint16Array
  classOf(codePoint: number): number
  /** The states before the first character. */
  readonly initial: readonly number[]
  /** The states after one more character of this class; empty if no continuation can match. */
  advance(from: readonly number[], characterClass: number): readonly number[]
  /** Whether the text so far matches, whatever follows. */
  accepts(from: readonly number[]): boolean
  /** Whether the text matches if it ends here. */
  acceptsAtEnd(from: readonly number[], isEmpty: boolean): boolean
}

const MATCH = 0

/** @returns the automaton of a pattern; its size is proportional to the pattern with its counted repetitions written out */
export function buildAutomaton(tree: PatternNode): Automaton {
  const bounds = classBounds(tree)
  const states: State[] = [{ kind: 'match' }]

  const add = (state: State): number => states.push(state) - 1
  const taken = new Map<CharacterSet, readonly boolean[]>()
  const takesOf = (set: CharacterSet): readonly boolean[] => {
    const takes = taken.get(set) ?? bounds.map((codePoint) => takesCodePoint(set, codePoint))
    taken.set(set, takes)
    return takes
  }
  /** @returns the state that reads a match of the node and continues with `next` */
  const build = (node: PatternNode, next: number): number => {
    if (node.kind === 'set') return add({ kind: 'read', takes: takesOf(node), next })
    if (node.kind === 'anchor') return add({ kind: 'anchor', at: node.at, next })
    if (node.kind === 'sequence') return node.items.reduceRight((after, item) => build(item, after), next)
    if (node.kind === 'choice') return add({ kind: 'fork', next: node.items.map((item) => build(item, next)) })
    let entry = node.max === Infinity ? buildLoop(node.item, next) : next
    for (let count = node.min; count < node.max && node.max !== Infinity; count += 1)
      entry = add({ kind: 'fork', next: [build(node.item, entry), next] })
    for (let count = 0; count < node.min; count += 1) entry = build(node.item, entry)
    return entry
  }
  const buildLoop = (item: PatternNode, next: number): number => {
    const ways: number[] = [next]
    const loop = add({ kind: 'fork', next: ways })
    ways.push(build(item, loop))
    return loop
  }

  const entry = build(tree, MATCH)
  const visited = new Uint32Array(states.length)
  let visit = 0
  const follow = states.map((state) => (state.kind === 'read' ? reachable(states, [state.next], INSIDE) : []))
  const restart = reachable(states, [entry], INSIDE)
  const include = (numbers: readonly number[], into: number[]): void => {
    for (const number of numbers) {
      if (visited[number] === visit) continue
      visited[number] = visit
      into.push(number)
    }
  }

  return {
    steps: follow.reduce((sum, { length }) => sum + length, restart.length),
    classes: bounds.length,
    ascii: Uint16Array.from({ length: ASCII }, (_, codePoint) => classOf(bounds, codePoint)),
    classOf: (codePoint) => classOf(bounds, codePoint),
    initial: reachable(states, [entry], { start: true, end: false }),
    advance(from, characterClass) {
      const into: number[] = []
      visit += 1
      for (const number of from) {
        const state = states[number]
        if (state?.kind === 'read' && state.takes[characterClass]) include(follow[number] ?? [], into)
      }
      include(restart, into)
      return into
    },
    accepts: (from) => from.includes(MATCH),
    acceptsAtEnd: (from, isEmpty) => reachable(states, from, { start: isEmpty, end: true }).includes(MATCH),
  }
}

/** The states that can be reached without reading a character. */
function reachable(states: readonly State[], from: readonly number[], place: TextPosition): readonly number[] {
  const visited = new Set<number>()
  const found: number[] = []
  const reach = (number: number): void => {
    const state = states[number]
    if (state === undefined || visited.has(number)) return
    visited.add(number)
    if (state.kind === 'fork') state.next.forEach(reach)
    else if (state.kind !== 'anchor') found.push(number)
    else if (state.at === '^' ? place.start : place.end) reach(state.next)
    else if (state.at === '$') found.push(number)
  }
  from.forEach(reach)
  return found
}

const INSIDE: TextPosition = { start: false, end: false }

/** The first code point of each class: no set of the pattern distinguishes two characters of one class. */
function classBounds(tree: PatternNode): readonly number[] {
  const bounds = new Set([0])
  const collect = (node: PatternNode): void => {
    if (node.kind === 'anchor') return
    if (node.kind === 'repeat') return collect(node.item)
    if (node.kind !== 'set') return node.items.forEach(collect)
    for (const [first, last] of node.ranges) bounds.add(first).add(last + 1)
  }
  collect(tree)
  return [...bounds].toSorted((left, right) => left - right)
}

function takesCodePoint({ ranges, negated }: CharacterSet, codePoint: number): boolean {
  return ranges.some(([first, last]) => first <= codePoint && codePoint <= last) !== negated
}

const ASCII = 128

function classOf(bounds: readonly number[], codePoint: number): number {
  let [low, high] = [0, bounds.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? 0) <= codePoint) low = middle
    else high = middle
  }
  return low
}
