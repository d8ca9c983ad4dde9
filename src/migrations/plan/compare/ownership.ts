import { identifier } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'

/**
 * Which constraints and indexes resources.yaml owns: a plan changes and drops only these. Files list what they create for it. In
 * files that are older than these lists, names decide.
 */
export interface Ownership {
  /** According to the lists in files. */
  readonly recorded: ReadonlySet<string>
  /** Objects from before the first file with a list. */
  readonly unrecorded: ReadonlySet<string>
}

const START = '-- owns: '
const WIDEST = 120

/** The comment at the end of a file that lists its constraints and indexes for resources.yaml. */
export function formatOwned(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names.map(identifier)) {
    const last = lines.at(-1)
    const longer = `${last}, ${name}`
    if (last !== undefined && longer.length <= WIDEST) lines[lines.length - 1] = longer
    else lines.push(`${START}${name}`)
  }
  return lines.length === 0 ? `${START}nothing\n` : `${lines.join('\n')}\n`
}

/** The list in the comments of a file; undefined if they have none. */
export function readOwned(comments: readonly string[]): readonly string[] | undefined {
  const said = comments.filter((comment) => comment.startsWith(START))
  if (said.length === 0) return undefined
  return said.flatMap((line) =>
    [...line.matchAll(/"((?:[^"]|"")+)"/g)].map(([, name = '']) => name.replaceAll('""', '"')),
  )
}

/** The names of all constraints and indexes in a schema. */
export async function namesIn(session: Connection, schema: string): Promise<ReadonlySet<string>> {
  const text = `
    select conname from pg_constraint where connamespace = $1::regnamespace
    union select relname from pg_class where relnamespace = $1::regnamespace and relkind in ('i', 'I')`
  const { rows } = await session.query({ text, values: [schema] })
  return new Set(rows.map(([name]) => name ?? ''))
}
