import type { Connection } from '../../db/database.js'
import { withoutComments } from './destruction.js'
import { countRows } from './count-rows.js'
import { type Inventory, takeTables } from './inventory.js'

/** Whether statements change rows, write all rows of tables again, or may call functions that do anything. */
type Kind = 'update' | 'alter' | 'other'

/** Statements of one kind that ran one after the other, with the tables and types before and after them. */
export interface Stretch {
  readonly kind: Kind
  readonly texts: readonly string[]
  readonly before: Inventory
  readonly after: Inventory
  /**
   * How many rows each rewritten table has lost since, without the deletions that PostgreSQL counted: a later `truncate` in the same transaction does not
   * give the table another file.
   */
  readonly shrunk: ReadonlyMap<string, number>
}

/** Statements that neither change rows nor rewrite tables; they can be part of any stretch. */
const NEUTRAL =
  /^(?:create\s+(?:unlogged\s+)?table|create\s+(?:unique\s+)?index|create\s+type|drop\s+(?:table|index|view)|comment|grant|revoke|set|reset)\b/i
const WITH_ROWS = /\bas\s*\(*\s*(?:select|with|table|values|execute)\b/i

function kindOf(text: string): Kind | undefined {
  if (/^update\b/i.test(text)) return 'update'
  if (/^(?:alter|cluster)\b/i.test(text)) return 'alter'
  return NEUTRAL.test(text) && !WITH_ROWS.test(text) ? undefined : 'other'
}

/** The tables whose rows were truncated or written again. */
export function rewrittenIn({ before, after }: Pick<Stretch, 'before' | 'after'>): readonly string[] {
  return [...before.tables].flatMap(([id, { file }]) => {
    const now = after.tables.get(id)
    return now === undefined || now.file === file ? [] : [id]
  })
}

interface Rewritten {
  readonly id: string
  /** Its rows afterwards. */
  readonly rows: number
  readonly then: Inventory
  readonly shrunk: Map<string, number>
}

/** A connection that takes an inventory where the kind of statement changes. */
interface Observed extends Pick<Connection, 'query'> {
  /** Ends the last stretch. */
  finish(): Promise<readonly Stretch[]>
}

export function observeStatements(connection: Connection, start: Inventory): Observed {
  const stretches: Stretch[] = []
  const rewritten: Rewritten[] = []
  let before = start
  let kind: Kind | undefined
  let texts: string[] = []
  const end = async (next: Kind | undefined) => {
    const after = await takeTables(connection, start.schema)
    const shrunk = new Map<string, number>()
    stretches.push({ kind: kind ?? 'other', texts, before, after, shrunk })
    if (kind === 'alter' && next !== undefined)
      for (const id of rewrittenIn({ before, after }))
        rewritten.push({ id, rows: (await countRows(connection, id)) ?? 0, then: after, shrunk })
    before = after
    kind = next
    texts = []
  }
  return {
    async query(statement) {
      const text = withoutComments(statement.text)
      const own = kindOf(text)
      if (own !== undefined && kind !== undefined && own !== kind) await end(own)
      kind ??= own
      texts.push(text)
      return connection.query(statement)
    },
    async finish() {
      if (texts.length > 0) await end(undefined)
      for (const { id, rows, then, shrunk } of rewritten) {
        const now = await countRows(connection, id)
        const change = (counter: 'deleted' | 'inserted') =>
          Math.max(0, (before.tables.get(id)?.[counter] ?? 0) - (then.tables.get(id)?.[counter] ?? 0))
        const lost = now === undefined ? 0 : rows - now + change('inserted') - change('deleted')
        if (lost > 0) shrunk.set(id, lost)
      }
      return stretches
    },
  }
}
