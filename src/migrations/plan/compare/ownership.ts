import { identifier } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'

/** A check that another tool created under a name of its own, and that states a rule of resources.yaml. */
export interface TakenOver {
  readonly table: string
  readonly name: string
}

/**
 * Which constraints and indexes resources.yaml owns: a plan changes and drops only these. Files list what they create for it. In
 * files that are older than these lists, names decide.
 */
export interface Ownership {
  /** According to the lists in files. */
  readonly recorded: ReadonlySet<string>
  /** Objects from before the first file with a list. */
  readonly unrecorded: ReadonlySet<string>
  /** The names of the checks that were taken over, by table. Checks of different tables can have the same name. */
  readonly takenOver: ReadonlyMap<string, ReadonlySet<string>>
}

/** The objects of resources.yaml that the comments of a file list. */
export interface Lists {
  /** The constraints and indexes that the file creates for resources.yaml; undefined if it does not list them. */
  readonly owns: readonly string[] | undefined
  /** The checks that the file takes over. */
  readonly takenOver: readonly TakenOver[]
}

const START = '-- owns: '
const TAKEN_OVER = '-- taken over: '
const WIDEST = 120

/** The comments at the end of a file that list its constraints and indexes for resources.yaml. */
export function formatLists({ owns = [], takenOver }: Lists): string {
  const own = listed(START, owns.map(identifier))
  const taken = takenOver.map(({ table, name }) => `${identifier(table)}.${identifier(name)}`)
  return [...(own.length === 0 ? [`${START}nothing`] : own), ...listed(TAKEN_OVER, taken)]
    .map((line) => `${line}\n`)
    .join('')
}

function listed(start: string, names: readonly string[]): readonly string[] {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    const longer = `${last}, ${name}`
    if (last !== undefined && longer.length <= WIDEST) lines[lines.length - 1] = longer
    else lines.push(`${start}${name}`)
  }
  return lines
}

const QUOTED = '"((?:[^"]|"")+)"'
const NAMES = new RegExp(QUOTED, 'g')
const NAMES_IN_TABLES = new RegExp(String.raw`${QUOTED}\.${QUOTED}`, 'g')

/** Reads the lists in the comments of a file. */
export function readLists(comments: readonly string[]): Lists {
  const [own, taken] = [START, TAKEN_OVER].map((start) => comments.filter((comment) => comment.startsWith(start)))
  const unquoted = (name = '') => name.replaceAll('""', '"')
  return {
    owns:
      own?.length === 0
        ? undefined
        : own?.flatMap((line) => [...line.matchAll(NAMES)].map(([, name]) => unquoted(name))),
    takenOver: (taken ?? []).flatMap((line) =>
      [...line.matchAll(NAMES_IN_TABLES)].map(([, table, name]) => ({ table: unquoted(table), name: unquoted(name) })),
    ),
  }
}

/** The names of all constraints and indexes in a schema. */
export async function namesIn(session: Connection, schema: string): Promise<ReadonlySet<string>> {
  const text = `
    select conname from pg_constraint where connamespace = $1::regnamespace
    union select relname from pg_class where relnamespace = $1::regnamespace and relkind in ('i', 'I')`
  const { rows } = await session.query({ text, values: [schema] })
  return new Set(rows.map(([name]) => name ?? ''))
}

/** A check that was taken over, with the OID of its table, which stays the same if the table is renamed. */
export interface LocatedCheck extends TakenOver {
  readonly id: string
}

/**
 * The checks that are taken over once a file has run, under the current names of their tables. Omits checks that the file dropped.
 * @param before the checks that earlier files took over
 * @param added the checks that the file lists
 */
export async function takenOverAfter(
  session: Connection,
  schema: string,
  { before, added }: { readonly before: readonly LocatedCheck[]; readonly added: readonly TakenOver[] },
): Promise<readonly LocatedCheck[]> {
  if (before.length + added.length === 0) return []
  const text = `
    select t.oid::text, t.relname, c.conname from pg_constraint c join pg_class t on t.oid = c.conrelid
    where c.contype = 'c' and c.connamespace = $1::regnamespace`
  const { rows } = await session.query({ text, values: [schema] })
  const ids = new Set(before.map(({ id, name }) => JSON.stringify([id, name])))
  const names = new Set(added.map(({ table, name }) => JSON.stringify([table, name])))
  return rows
    .map(([id, table, name]) => ({ id: id ?? '', table: table ?? '', name: name ?? '' }))
    .filter(({ id, table, name }) => ids.has(JSON.stringify([id, name])) || names.has(JSON.stringify([table, name])))
}
