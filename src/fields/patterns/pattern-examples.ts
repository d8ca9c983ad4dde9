import { type CharacterSet, parsePattern, type PatternNode } from './pattern-syntax.js'

/** Two short texts of a pattern that has been checked. Some patterns, such as `a^`, have none, so callers validate them. */
export function patternExamples(pattern: string): readonly string[] {
  const tree = parsePattern(pattern)
  return [exampleOf(tree, 0), exampleOf(tree, -1)]
}

/** A text with the first or the last choice everywhere. */
function exampleOf(node: PatternNode, place: 0 | -1): string {
  if (node.kind === 'anchor') return ''
  if (node.kind === 'set') return String.fromCodePoint(memberOf(node, place))
  if (node.kind === 'sequence') return node.items.map((item) => exampleOf(item, place)).join('')
  if (node.kind === 'repeat') return exampleOf(node.item, place).repeat(Math.max(node.min, Math.min(1, node.max)))
  const choice = node.items.at(place)
  return choice === undefined ? '' : exampleOf(choice, place)
}

function memberOf({ ranges, negated }: CharacterSet, place: 0 | -1): number {
  const [first, last] = ranges.at(place) ?? [0, 0]
  if (!negated) return place === 0 ? first : last
  const isFree = (codePoint: number) => ranges.every(([low, high]) => codePoint < low || codePoint > high)
  return PRINTABLE.find(isFree) ?? 0xe000
}

/** Letters come before the other printable characters of ASCII. */
const PRINTABLE = [...Array.from({ length: 26 }, (_, at) => 97 + at), ...Array.from({ length: 95 }, (_, at) => 32 + at)]
