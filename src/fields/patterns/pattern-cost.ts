import { type CharacterSet, type PatternNode, PatternRejection, type Range } from './pattern-syntax.js'

/** The maximum number of paths through a pattern that a matcher may have to try at one place in a text. */
const MAX_PATHS = 256
const MAX_POSITIONS = 1000
const MAX_STEPS = 20_000
const LAST_CODE_POINT = 0x10ffff

const AMBIGUOUS =
  'a repeated part of the pattern can match the same text in more than one way, which can take very long; each character should tell ' +
  'whether the repetition goes on: `^[a-z]+(-[a-z]+)*$` rather than `^([a-z]+-?)*$`, `^[^@]+@` rather than `.+@`'

/** A character of the pattern with its counted repetitions written out (Glushkov's automaton). */
interface Position {
  readonly ranges: readonly Range[]
  /** The outermost unbounded repetition around it. */
  readonly loop: Loop | undefined
  /** The characters that can come next, once for each path. */
  readonly next: Position[]
}

/** One unbounded repetition; a repetition that was written out twice counts as two. */
type Loop = symbol

interface Fragment {
  readonly empty: boolean
  readonly first: readonly Position[]
  readonly last: readonly Position[]
}

/**
 * Makes sure that a backtracking matcher needs time proportional to the text, from each place where it starts: inside an
 * unbounded repetition every character decides what comes next, and elsewhere there are few paths to try.
 * @throws PatternRejection
 */
export function rejectCostly(tree: PatternNode): void {
  const { positions, first } = buildAutomaton(tree)
  for (const position of positions) {
    if (position.loop && mostOverlapping(position.next, () => 1) > 1) throw new PatternRejection(AMBIGUOUS)
  }
  if (mostOverlapping(first, countPaths(positions)) > MAX_PATHS) {
    throw new PatternRejection(
      `the pattern can match the same text in more than ${MAX_PATHS} ways, which can take very long`,
    )
  }
}

function buildAutomaton(tree: PatternNode) {
  const positions: Position[] = []
  let steps = 0

  const connect = (from: readonly Position[], to: readonly Position[]): void => {
    steps += from.length * to.length
    if (steps > MAX_STEPS) throw new PatternRejection('the pattern is too large once its repetitions are written out')
    for (const position of from) position.next.push(...to)
  }
  const join = (left: Fragment, right: Fragment): Fragment => {
    connect(left.last, right.first)
    return {
      empty: left.empty && right.empty,
      first: left.empty ? [...left.first, ...right.first] : left.first,
      last: right.empty ? [...left.last, ...right.last] : right.last,
    }
  }
  const build = (node: PatternNode, loop: Loop | undefined): Fragment => {
    if (node.kind === 'anchor') return NOTHING
    if (node.kind === 'set') return addPosition(node, loop)
    if (node.kind === 'sequence') return node.items.map((item) => build(item, loop)).reduce(join, NOTHING)
    if (node.kind === 'choice') return either(node.items.map((item) => build(item, loop)))
    return repeat(node, loop)
  }
  const addPosition = (node: CharacterSet, loop: Loop | undefined): Fragment => {
    const position: Position = { ranges: rangesOf(node), loop, next: [] }
    if (positions.push(position) > MAX_POSITIONS)
      throw new PatternRejection('the pattern is too large once its repetitions are written out')
    return { empty: false, first: [position], last: [position] }
  }
  const repeat = (node: PatternNode & { kind: 'repeat' }, loop: Loop | undefined): Fragment => {
    const { item, min, max } = node
    const copy = (around = loop): Fragment => {
      const fragment = build(item, around)
      if (fragment.empty)
        throw new PatternRejection(
          'a repeated part of the pattern can match nothing at all, so it could repeat for ever',
        )
      return fragment
    }
    const required = (count: number): Fragment => Array.from({ length: count }, () => copy()).reduce(join, NOTHING)
    if (max === Infinity) {
      const start = required(Math.max(min - 1, 0))
      const body = copy(loop ?? Symbol('loop'))
      connect(body.last, body.first)
      return join(start, { ...body, empty: min === 0 })
    }
    let optional = NOTHING
    for (let count = min; count < max; count += 1) optional = { ...join(copy(), optional), empty: true }
    return join(required(min), optional)
  }
  return { first: build(tree, undefined).first, positions }
}

const NOTHING: Fragment = { empty: true, first: [], last: [] }

function either(fragments: readonly Fragment[]): Fragment {
  const empty = fragments.filter((fragment) => fragment.empty).length
  if (empty > 1) throw new PatternRejection('more than one alternative of the pattern can match nothing at all')
  return {
    empty: empty > 0,
    first: fragments.flatMap((fragment) => fragment.first),
    last: fragments.flatMap((fragment) => fragment.last),
  }
}

/** The maximum total weight of positions that read the same character. */
function mostOverlapping(positions: readonly Position[], weigh: (position: Position) => number): number {
  const starts = new Set(positions.flatMap(({ ranges }) => ranges.map(([from]) => from)))
  const taking = (codePoint: number) =>
    positions.filter(({ ranges }) => ranges.some(([from, to]) => from <= codePoint && codePoint <= to))
  return Math.max(0, ...[...starts].map((start) => taking(start).reduce((sum, position) => sum + weigh(position), 0)))
}

/** The number of paths from a position to the end that read the same text. */
function countPaths(positions: readonly Position[]): (position: Position) => number {
  const known = new Map<Position | Loop, number>()
  const count = (position: Position): number => {
    const key = position.loop ?? position
    const before = known.get(key)
    if (before !== undefined) return before
    const ways = position.loop ? countExits(position.loop) : mostOverlapping(position.next, count)
    known.set(key, Math.max(1, ways))
    return Math.max(1, ways)
  }
  // Within a repetition every character decides, so the paths are those of its worst exit.
  const countExits = (loop: Loop): number => {
    const inside = positions.filter((position) => position.loop === loop)
    const exits = new Set(inside.flatMap(({ next }) => next.filter((position) => position.loop !== loop)))
    return Math.max(1, ...[...exits].map(count))
  }
  return count
}

function rangesOf({ ranges, negated }: CharacterSet): readonly Range[] {
  if (!negated) return ranges
  const gaps: Range[] = []
  let from = 1
  for (const [first, last] of ranges.toSorted(([left], [right]) => left - right)) {
    if (first > from) gaps.push([from, first - 1])
    from = Math.max(from, last + 1)
  }
  return from <= LAST_CODE_POINT ? [...gaps, [from, LAST_CODE_POINT]] : gaps
}
