import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { ask } from './ask.js'
import { withClient } from './cluster.js'
import { languageOf } from './rows.js'
import { fill, workNamed } from './works.js'

interface Situation {
  readonly contestant: string
  readonly work: string
  readonly port: number
  readonly url: string
  readonly rows: number
}

interface Stored {
  readonly id: number
  readonly title: string
  readonly code: string
  readonly language: string
  /** Milliseconds since 1970. */
  readonly created_at: number
}

type Fields = Readonly<Record<string, unknown>>

/** What the response of a work must contain, according to PostgreSQL, after a request for the row `id`. */
interface Expectation {
  /** The SQL after `from snippets`; undefined if the response says which row it is about. */
  readonly rows?: (rows: number, id: number) => string
  /** The records in a response. */
  readonly read: (body: unknown) => readonly Fields[]
  /** Set A has no `created_at`. */
  readonly times: boolean
}

const one = (body: unknown) => [body as Fields]
const all = (body: unknown) => body as readonly Fields[]
const byId = { rows: (_rows: number, id: number) => `where id = ${id}`, read: one, times: true }

const EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  retrieve: byId,
  list10: { rows: () => 'order by id limit 10', read: all, times: true },
  filtered: {
    rows: (_rows, id) => `where language = '${languageOf(id)}' order by created_at desc, id desc limit 10`,
    read: all,
    times: true,
  },
  list100: { rows: () => 'order by id limit 100', read: all, times: true },
  deep: {
    rows: (rows) => `order by id limit 10 offset ${10 * Math.max(0, Math.floor(rows / 10) - 2)}`,
    read: all,
    times: true,
  },
  'a-retrieve': { ...byId, read: (body) => one((body as { readonly snippet: unknown }).snippet), times: false },
  'a-list': {
    rows: () => 'order by id',
    read: (body) => all((body as { readonly snippets: unknown }).snippets),
    times: false,
  },
  create: { read: one, times: true },
  update: byId,
  patch: byId,
}

/**
 * Sends a request and compares the response with PostgreSQL's own data.
 * @throws Error if they differ
 */
export async function verify({ contestant, work, port, url, rows }: Situation): Promise<void> {
  const expected = EXPECTATIONS[work]
  if (expected === undefined) throw new Error(`no expected response is defined for ${work}`)
  const id = Math.ceil(rows / 3)
  const { method, path, body } = workNamed(work).request(rows)
  const fillIn = (text: string) => fill(text, id, languageOf(id))
  const answer = await ask({ port, method, path: fillIn(path), body: body && fillIn(body) })
  const shown = answer.status < 300 ? expected.read(JSON.parse(answer.body)) : []
  await withClient(url, async (client) => {
    const where = expected.rows?.(rows, id) ?? `where id = ${Number(shown[0]?.['id'])}`
    const stored = await read(client, where)
    const right = stored.length > 0 && stored.length === shown.length
    if (!right || !stored.every((row, index) => isSame(row, shown[index] ?? {}, expected.times))) {
      throw new Error(`${contestant} responds to ${work} incorrectly (${answer.status}): ${answer.body.slice(0, 300)}`)
    }
    if (expected.rows === undefined) await client.query('delete from snippets where id > $1', [rows])
  })
}

async function read(client: pg.Client, where: string): Promise<readonly Stored[]> {
  const { rows } = await client.query<Stored>(`
    select id::float8, title, code, language, floor(extract(epoch from created_at) * 1000)::float8 as created_at
    from snippets ${where}`)
  return rows
}

function isSame(stored: Stored, shown: Fields, times: boolean): boolean {
  const { created_at: moment, ...fields } = stored
  const same = Object.entries(fields).every(([name, value]) => isDeepStrictEqual(value, shown[name]))
  return same && (!times || Date.parse(String(shown['created_at'])) === moment)
}
