/** A range of code points, including both ends. */
export type Range = readonly [first: number, last: number]

/** One character from these ranges, or (negated) none of them. */
export interface CharacterSet {
  readonly kind: 'set'
  readonly ranges: readonly Range[]
  readonly negated: boolean
}

/** A pattern, parsed. */
export type PatternNode =
  | CharacterSet
  | { readonly kind: 'anchor'; readonly at: '^' | '$' }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly item: PatternNode; readonly min: number; readonly max: number }

/** The reason why a pattern is rejected; `message` is a sentence for the author of resources.yaml. */
export class PatternRejection extends Error {}

/** PostgreSQL's limit on a counted repetition. */
const MAX_REPEATS = 255

function code(character: string): number {
  return character.codePointAt(0) ?? 0
}

function set(ranges: readonly Range[], negated = false): CharacterSet {
  return { kind: 'set', ranges, negated }
}

function single(codePoint: number): CharacterSet {
  return set([[codePoint, codePoint]])
}

function spans(...texts: readonly string[]): readonly Range[] {
  return texts.map((text) => [code(text), code(text.slice(-1))] as const)
}

const LINE_ENDS = spans('\n', '\r', '\u2028', '\u2029')
const CLASSES: Readonly<Record<string, readonly Range[]>> = {
  d: spans('0-9'),
  w: spans('0-9', 'A-Z', '_', 'a-z'),
  s: spans('\t-\r', ' '),
}
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }
const PUNCTUATION = /^[!-/:-@[-`{-~]$/
const QUANTIFIER = /^(?:([*+?])|\{(\d{1,9})(?:(,)(\d{1,9})?)?\})/
const SIGNS: Readonly<Record<string, readonly [number, number]>> = {
  '*': [0, Infinity],
  '+': [1, Infinity],
  '?': [0, 1],
}

/** Parses a pattern. @throws PatternRejection for syntax that JavaScript and PostgreSQL do not share */
export function parsePattern(text: string): PatternNode {
  const characters = [...text]
  let at = 0
  const peek = (): string => characters[at] ?? ''
  const rest = (length: number): string => characters.slice(at, at + length).join('')
  const take = (): string => characters[at++] ?? ''
  const reject = (message: string): never => {
    throw new PatternRejection(message)
  }

  const parseChoice = (): PatternNode => {
    const items = [parseSequence()]
    while (peek() === '|') {
      at += 1
      items.push(parseSequence())
    }
    return items.length === 1 && items[0] ? items[0] : { kind: 'choice', items }
  }

  const parseSequence = (): PatternNode => {
    const items: PatternNode[] = []
    while (at < characters.length && peek() !== '|' && peek() !== ')') items.push(parseRepeat())
    return items.length > 0
      ? { kind: 'sequence', items }
      : reject('the pattern has an alternative or a group with nothing in it')
  }

  const parseRepeat = (): PatternNode => {
    const item = parseAtom()
    const [whole, sign, least, comma, most] = QUANTIFIER.exec(rest(21)) ?? []
    if (whole === undefined) return item
    at += whole.length
    if (item.kind === 'anchor') reject(`\`${item.at}\` cannot be repeated`)
    if (/^[*+?{]/.test(peek()))
      reject(`\`${whole}${peek()}\`: lazy, possessive and doubled quantifiers are not supported`)
    const counted = [Number(least), comma === undefined ? Number(least) : Number(most ?? Infinity)] as const
    const [min, max] = SIGNS[sign ?? ''] ?? counted
    if (max === 0) reject(`\`${whole}\` matches nothing; remove it and what it repeats`)
    if (max < min) reject(`\`${whole}\` asks for at least ${min} and at most ${max}`)
    if (min > MAX_REPEATS || (max > MAX_REPEATS && max !== Infinity))
      reject(`\`${whole}\` repeats more than ${MAX_REPEATS} times`)
    return { kind: 'repeat', item, min, max }
  }

  const parseAtom = (): PatternNode => {
    const character = take()
    if (character === '(') return parseGroup()
    if (character === '[') return parseClass()
    if (character === '.') return set(LINE_ENDS, true)
    if (character === '^' || character === '$') return { kind: 'anchor', at: character }
    if (character === '\\') return parseEscape()
    if (/[*+?{}\]]/.test(character))
      reject(`\`${character}\` at character ${at} is matched literally only as \`\\${character}\``)
    return single(storable(code(character)))
  }

  const parseGroup = (): PatternNode => {
    if (rest(2) === '?:') at += 2
    else if (peek() === '?')
      reject(`\`(${rest(2)}\`: look-around and named groups are not supported; groups are \`(…)\` and \`(?:…)\``)
    const inside = parseChoice()
    return take() === ')' ? inside : reject('a group is not closed')
  }

  const parseEscape = (): CharacterSet => {
    const character = take()
    const ranges = CLASSES[character.toLowerCase()]
    if (ranges) return set(ranges, character !== character.toLowerCase())
    const control = CONTROLS[character]
    if (control !== undefined) return single(control)
    if (character === 'u') return single(storable(parseCodePoint()))
    if (PUNCTUATION.test(character)) return single(code(character))
    return reject(
      /[0-9]/.test(character)
        ? `\`\\${character}\`: back references are not supported`
        : `\`\\${character}\` is not supported; the escapes are \\d \\D \\w \\W \\s \\S \\t \\n \\r \\f \\v \\uXXXX and \\ before punctuation`,
    )
  }

  const parseCodePoint = (): number => {
    const [whole, four, braced] = /^(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})/.exec(rest(8)) ?? []
    if (whole === undefined) return reject('`\\u` needs four hexadecimal digits, or up to six in braces')
    at += whole.length
    return Number.parseInt(four ?? braced ?? '', 16)
  }

  const storable = (codePoint: number): number =>
    codePoint === 0 || codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)
      ? reject('U+0000, surrogates and code points above U+10FFFF never occur in text')
      : codePoint

  const parseClass = (): CharacterSet => {
    const negated = peek() === '^'
    if (negated) at += 1
    const ranges: Range[] = []
    while (peek() !== ']') ranges.push(...parseMember())
    at += 1
    return ranges.length > 0 ? set(ranges, negated) : reject('`[]` holds no character')
  }

  const parseMember = (): readonly Range[] => {
    const start = at
    const first = parseClassAtom()
    if (peek() !== '-' || characters[at + 1] === ']') return first.ranges
    at += 1
    const last = parseClassAtom()
    const [[from, ...more], [to, ...others]] = [ends(first), ends(last)]
    if (from === undefined || to === undefined || more.length + others.length > 0)
      return reject(`\`${characters.slice(start, at).join('')}\`: a range needs a character at each end`)
    return to < from ? reject('a range in `[…]` ends before it starts') : [[from, to]]
  }

  const ends = ({ ranges }: CharacterSet): readonly number[] =>
    ranges.flatMap(([from, to]) => (from === to ? [from] : [from, to]))

  const parseClassAtom = (): CharacterSet => {
    if (at >= characters.length) reject('`[` is not closed')
    if (/^\[[:.=]/.test(rest(2)))
      reject(`\`${rest(2)}\`: POSIX classes are not supported; write the ranges out, or \`\\[\``)
    const character = take()
    if (character !== '\\') return single(storable(code(character)))
    const escaped = parseEscape()
    return escaped.negated ? reject('\\D, \\W and \\S are not supported inside `[…]`') : escaped
  }

  const tree = parseChoice()
  return at < characters.length ? reject('`)` closes no group') : tree
}
