import { type Automaton, buildAutomaton } from './pattern-automaton.js'
import type { PatternNode } from './pattern-syntax.js'

/** Finds out whether a text has a match, in time linear in the text, whatever the pattern. */
export interface Matcher {
  matches(text: string): boolean
  /** The maximum number of states that are examined for one character: 1 with a table of all sets of states. */
  readonly stepsPerCharacter: number
}

/** The maximum size of the table, in entries, and the maximum number of steps to build it. */
const MAX_TABLE = 65_536
const MAX_TABLE_STEPS = 250_000

/** @returns a matcher that looks states up in a table if all sets of states fit into one, and otherwise follows the states of the automaton */
export function compileMatcher(tree: PatternNode): Matcher {
  const automaton = buildAutomaton(tree)
  const table = buildTable(automaton)
  return table
    ? { matches: (text) => matchByTable(text, table), stepsPerCharacter: 1 }
    : { matches: (text) => matchByStates(text, automaton), stepsPerCharacter: automaton.steps }
}

/** The deterministic automaton: each state is a set of states of the other one, and 0 is the first. */
interface Table {
  readonly automaton: Automaton
  /** The next state, by state times classes plus class. */
  readonly next: Uint16Array
  /** Whether the text matches, cannot match, or depends on what follows. */
  readonly verdicts: Uint8Array
  /** Whether the text matches if it ends here. */
  readonly atEnd: readonly boolean[]
}

const OPEN = 0
const MATCHES = 1
const FAILS = 2

function buildTable(automaton: Automaton): Table | undefined {
  const { initial, classes } = automaton
  const sets: (readonly number[])[] = [initial]
  const numbers = new Map<string, number>()
  const next: number[] = []
  let steps = 0

  const numberOf = (set: readonly number[]): number => {
    const key = automaton.accepts(set) ? 'match' : set.toSorted((left, right) => left - right).join()
    const number = numbers.get(key) ?? sets.push(set) - 1
    numbers.set(key, number)
    return number
  }
  for (const set of sets) {
    for (let characterClass = 0; characterClass < classes; characterClass += 1) {
      const after = automaton.accepts(set) ? set : automaton.advance(set, characterClass)
      steps += set.length + after.length + 1
      next.push(numberOf(after))
    }
    if (steps > MAX_TABLE_STEPS || sets.length * classes > MAX_TABLE) return undefined
  }
  return {
    automaton,
    next: Uint16Array.from(next),
    verdicts: Uint8Array.from(sets, (set) => (automaton.accepts(set) ? MATCHES : set.length === 0 ? FAILS : OPEN)),
    atEnd: sets.map((set, number) => automaton.acceptsAtEnd(set, number === 0)),
  }
}

function matchByTable(text: string, { automaton, next, verdicts, atEnd }: Table): boolean {
  const { ascii, classes } = automaton
  let state = 0
  for (let at = 0; at < text.length; at += 1) {
    if (verdicts[state] !== OPEN) return verdicts[state] === MATCHES
    const codePoint = text.codePointAt(at) ?? 0
    if (codePoint > LAST_OF_ONE_UNIT) at += 1
    const characterClass = ascii[codePoint] ?? automaton.classOf(codePoint)
    state = next[state * classes + characterClass] ?? 0
  }
  return atEnd[state] ?? false
}

function matchByStates(text: string, automaton: Automaton): boolean {
  let states = automaton.initial
  for (let at = 0; at < text.length; at += 1) {
    if (automaton.accepts(states)) return true
    if (states.length === 0) return false
    const codePoint = text.codePointAt(at) ?? 0
    if (codePoint > LAST_OF_ONE_UNIT) at += 1
    states = automaton.advance(states, automaton.classOf(codePoint))
  }
  return automaton.acceptsAtEnd(states, text === '')
}

/** Code points beyond this one take two units of a JavaScript string. */
const LAST_OF_ONE_UNIT = 0xffff
