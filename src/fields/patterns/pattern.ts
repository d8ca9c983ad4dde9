import { isStorable } from '../spelling/formats.js'
import { rejectCostly } from './pattern-cost.js'
import { compileMatcher, type Matcher } from './pattern-matcher.js'
import { type CharacterSet, parsePattern, type PatternNode, PatternRejection } from './pattern-syntax.js'

/** One pattern in two equivalent spellings: for a RegExp with the `u` flag (and so for JSON Schema), and for `~`. */
export interface Pattern {
  readonly javascript: string
  readonly postgres: string
}

/** The reason why a pattern is rejected, as a sentence. */
export interface Rejected {
  readonly rejection: string
}

const MAX_LENGTH = 200

/** The maximum number of steps that a pattern may need for one text. They take some tens of milliseconds. */
const MAX_STEPS = 1_000_000

/**
 * Returns both spellings of a pattern, or why it is rejected: it must mean the same in JavaScript and PostgreSQL, and be fast on any text of at most
 * `max` characters.
 */
export function checkPattern(text: string, max = Infinity): Pattern | Rejected {
  return rejecting(() => {
    const tree = parse(text)
    rejectCostly(tree)
    rejectSlow(compileMatcher(tree), max)
    return format(tree)
  })
}

/** Returns both spellings of a pattern that has been checked. */
export function translatePattern(text: string): Pattern | Rejected {
  return rejecting(() => format(parse(text)))
}

/** Returns the matcher of a pattern that has been checked. */
export function matcherOf(text: string): Matcher {
  return compileMatcher(parse(text))
}

function rejecting(work: () => Pattern): Pattern | Rejected {
  try {
    return work()
  } catch (error) {
    if (error instanceof PatternRejection) return { rejection: error.message }
    throw error
  }
}

function parse(text: string): PatternNode {
  const length = [...text].length
  if (length > MAX_LENGTH)
    throw new PatternRejection(`the pattern has ${length} characters; at most ${MAX_LENGTH} are allowed`)
  if (!isStorable(text)) throw new PatternRejection('the pattern contains U+0000 or an unpaired surrogate')
  return parsePattern(text)
}

function format(tree: PatternNode): Pattern {
  return {
    javascript: write(tree, JAVASCRIPT),
    postgres: write(tree, POSTGRES),
  }
}

interface Spelling {
  readonly open: string
  readonly optional: string
  readonly outside: (codePoint: number) => string
  readonly inside: (codePoint: number) => string
}

function hex(codePoint: number, digits: number): string {
  return codePoint.toString(16).padStart(digits, '0')
}

/** Characters that are invisible or unsafe in a line of text. */
const INVISIBLE = /[\p{C}\p{Z}]/u

function javascriptCharacter(special: RegExp) {
  return (codePoint: number): string => {
    const character = String.fromCodePoint(codePoint)
    if (special.test(character)) return `\\${character}`
    if (character === ' ' || !INVISIBLE.test(character)) return character
    return codePoint > 0xffff ? `\\u{${hex(codePoint, 1)}}` : `\\u${hex(codePoint, 4)}`
  }
}

const JAVASCRIPT: Spelling = {
  open: '(?:',
  optional: '?',
  outside: javascriptCharacter(/[\^$\\.*+?()[\]{}|/]/),
  inside: javascriptCharacter(/[\^\\[\]-]/),
}

// Numeric escapes mean the same everywhere in an advanced regular expression, and leave no `?` or quote for other parsers to misread.
function postgresCharacter(codePoint: number): string {
  const character = String.fromCodePoint(codePoint)
  if (/[A-Za-z0-9]/.test(character)) return character
  return codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`
}

const POSTGRES: Spelling = { open: '(', optional: '{0,1}', outside: postgresCharacter, inside: postgresCharacter }

function write(node: PatternNode, spelling: Spelling): string {
  if (node.kind === 'anchor') return node.at
  if (node.kind === 'set') return writeSet(node, spelling)
  if (node.kind === 'sequence') return node.items.map((item) => write(item, spelling)).join('')
  if (node.kind === 'choice') return `${spelling.open}${node.items.map((item) => write(item, spelling)).join('|')})`
  const item = write(node.item, spelling)
  const whole = node.item.kind === 'set' || node.item.kind === 'choice' ? item : `${spelling.open}${item})`
  return `${whole}${quantifier(node.min, node.max, spelling)}`
}

function quantifier(min: number, max: number, { optional }: Spelling): string {
  if (min === 0 && max === 1) return optional
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  return min === max ? `{${min}}` : `{${min},${max}}`
}

function writeSet({ ranges, negated }: CharacterSet, { outside, inside }: Spelling): string {
  const [[from, to] = [0, 0], ...others] = ranges
  if (!negated && others.length === 0 && from === to) return outside(from)
  const members = ranges.map(([first, last]) => (first === last ? inside(first) : `${inside(first)}-${inside(last)}`))
  return `[${negated ? '^' : ''}${members.join('')}]`
}

function rejectSlow({ stepsPerCharacter }: Matcher, max: number): void {
  if (stepsPerCharacter === 1 || stepsPerCharacter * max <= MAX_STEPS) return
  const most = Math.floor(MAX_STEPS / stepsPerCharacter)
  throw new PatternRejection(
    `the pattern can take up to ${stepsPerCharacter} steps for each character, so the field needs a \`max\` of at most ${most}; a pattern ` +
      'that begins with `^`, or repeats less often, takes fewer',
  )
}
