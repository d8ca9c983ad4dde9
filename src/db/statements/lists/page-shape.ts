import type { ListPlan } from '../../../resource/plan.js'
import type { Cell } from '../../../fields/cell.js'
import type { Result } from '../../database.js'

/** The parts of the statement for a page. */
export interface PageParts {
  /** The subquery for the page and one more row. */
  readonly cut: string
  /** The alias of the subquery. */
  readonly table: string
  /** The order for the client. */
  readonly order: string
  /** The columns selected from each row. */
  readonly selected: readonly string[]
  /** The order values of each row, if the first and last ones are needed for cursors. */
  readonly keys: readonly string[]
  /** The statement that counts all matching rows, if they are counted. */
  readonly count: string | undefined
  /** The parameter with the page size; undefined if unlimited. */
  readonly size: string | undefined
  /** The order of the subquery, in which the extra row comes last. */
  readonly cutOrder: string
}

/** A page as read from the database. */
export interface PageCells<Items> {
  readonly items: Items
  readonly length: number
  readonly more: boolean
  /** The order values of the first and the last item. */
  readonly first: readonly Cell[] | undefined
  readonly last: readonly Cell[] | undefined
  /** The number of matching rows, if they are counted and a row carried the count. */
  readonly counted: number | undefined
}

/** How a page leaves the database: the statement, and how its result is read. */
export interface PageShape<Items> {
  text(parts: PageParts): string
  /** The column to read as bytes. */
  raw?(counts: Pick<PageCounts, 'counted'>): number
  read(result: Pick<Result, 'rows' | 'bytes'>, counts: PageCounts): PageCells<Items>
}

/** What reading a result requires to know about its statement. */
export interface PageCounts {
  readonly plan: Pick<ListPlan, 'limit' | 'start'>
  readonly counted: boolean
  readonly keys: number
}

/** One row for each record. */
export function rowPage<Item>(read: (cells: readonly Cell[]) => Item): PageShape<readonly Item[]> {
  return {
    text: ({ cut, table, order, selected, keys, count }) => {
      const columns = [...(count === undefined ? [] : [`(${count})`]), ...keys, ...selected]
      return `select ${columns.join(', ')} from (${cut}) ${table}${order}`
    },
    read: ({ rows }, { plan: { limit, start }, counted, keys }) => {
      const more = limit !== undefined && rows.length > limit
      const from = more && 'before' in start ? 1 : 0
      const wanted = more ? rows.slice(from, from + limit) : rows
      const at = counted ? 1 : 0
      const edge = (cells: readonly Cell[] | undefined) => (keys > 0 ? cells?.slice(at, at + keys) : undefined)
      return {
        items: wanted.map((cells) => read(cells.slice(at + keys))),
        length: wanted.length,
        more,
        first: edge(wanted[0]),
        last: edge(wanted.at(-1)),
        counted: counted && rows[0] ? Number(rows[0][0]) : undefined,
      }
    },
  }
}

/** One row for each record; the reader builds their JSON texts and joins them to an array. */
export function joinedPage(read: (cells: readonly Cell[]) => string): PageShape<Uint8Array> {
  const rows = rowPage(read)
  return {
    text: rows.text,
    read: (result, counts) => {
      const page = rows.read(result, counts)
      return { ...page, items: Buffer.from(`[${page.items.join(',')}]`) }
    },
  }
}

/** One row for the whole page, with the JSON texts joined by commas: a row for each record would cost the reader more than the rest of the list. */
export const textPage: PageShape<Uint8Array> = {
  text: ({ cut, table, order, selected: [text], keys, count, size, cutOrder }) => {
    const names = keys.map((_, index) => `k${index}`)
    const columns = [`${text} d`, ...keys.map((key, index) => `${key} ${names[index]}`)]
    const number = size === undefined ? '' : `, row_number() over (${cutOrder}) n`
    // An aggregate processes rows in the order of a sorted subquery.
    const rows = `select ${columns.join(', ')}${number} from (${cut}) ${table}${order}`
    const wanted = size === undefined ? '' : ` filter (where n <= ${size})`
    const last = size === undefined ? 'count(*)::int' : `least(${size}, count(*))::int`
    const edges = names.flatMap((name) => ['1', last].map((place) => `(array_agg(${name})${wanted})[${place}]`))
    const all = [
      ...(count === undefined ? [] : [`(${count})`]),
      'count(*)',
      `'[' || coalesce(string_agg(d, ',')${wanted}, '') || ']'`,
      ...edges,
    ]
    return `select ${all.join(', ')} from (${rows}) p`
  },
  raw: ({ counted }) => (counted ? 2 : 1),
  read: ({ rows: [cells = []], bytes }, { plan: { limit }, counted, keys }) => {
    const at = counted ? 1 : 0
    const rows = Number(cells[at])
    const more = limit !== undefined && rows > limit
    const edge = (side: 0 | 1) => {
      if (keys === 0 || rows === 0) return undefined
      const values: Cell[] = []
      for (let index = 0; index < keys; index++) values.push(cells[at + 2 + 2 * index + side] ?? null)
      return values
    }
    return {
      items: bytes ?? missing(),
      length: more ? limit : rows,
      more,
      first: edge(0),
      last: edge(1),
      counted: counted ? Number(cells[0]) : undefined,
    }
  },
}

function missing(): never {
  throw new Error('a page came without its text')
}
