import { fileURLToPath } from 'node:url'

/** A server under test. It reads `DATABASE_URL` and `PORT`, and serves 127.0.0.1. */
export interface Contestant {
  readonly summary: string
  /** The arguments for Node. */
  readonly program: readonly string[]
  readonly directory: string
  /** Whether it implements Set A. */
  readonly setA: boolean
}

/** This code runs from .snippetctl/bench/ of the checkout. */
export const HOME = fileURLToPath(new URL('../..', import.meta.url))

export const CONTESTANTS: ReadonlyMap<string, Contestant> = new Map([
  ['ours', checkout('snippetctl serve', HOME)],
  ['floor', own('floor', 'node:http and pg, hand-written', true)],
  ['fastify-pg', own('fastify-pg', 'Fastify and pg, hand-written', false)],
  ['fastify-pg-duties', withDuties('fastify-pg', 'fastify-pg with the headers and the log of ours')],
  ['express-objection', own('express-objection', 'Express and objection, as in tutorials', false)],
])

/** A checkout of this project. */
export function checkout(summary: string, directory: string): Contestant {
  return { summary, program: ['bin/snippetctl.js', 'serve'], directory, setA: true }
}

function own(name: string, summary: string, setA: boolean): Contestant {
  const program = fileURLToPath(new URL(`contestants/${name}.js`, import.meta.url))
  return { summary, program: [program], directory: HOME, setA }
}

/** A contestant that sends the same headers and writes the same log entries as ours. */
function withDuties(name: string, summary: string): Contestant {
  const plain = own(name, summary, false)
  return { ...plain, program: [...plain.program, '--duties'] }
}
