import { createRequire } from 'node:module'
import type { HLJSApi } from 'highlight.js'
import type pg from 'pg'

/** A row of the table as an array. */
type Cells = readonly [id: string, title: string, code: string, language: string]

const BATCH = 500
const CACHE_ENTRIES = 2_000

/** Loaded on first use. */
function loadHighlighter(): HLJSApi {
  return createRequire(import.meta.url)('highlight.js') as HLJSApi
}

/** Set A of the floor. Highlighted code is cached; the oldest is evicted first. */
export function createSetA(pool: pg.Pool) {
  const cache = new Map<string, string>()
  let highlighter: HLJSApi | undefined

  const highlight = (code: string, language: string): string => {
    const key = `${language}\0${code}`
    const known = cache.get(key)
    if (known !== undefined) return known
    highlighter ??= loadHighlighter()
    const html = highlighter.highlight(code, { language, ignoreIllegals: true }).value
    cache.set(key, html)
    for (const oldest of cache.keys()) {
      if (cache.size <= CACHE_ENTRIES) break
      cache.delete(oldest)
    }
    return html
  }

  const present = ([id, title, code, language]: Cells): string =>
    `{"id":${id},${JSON.stringify({ title, code, language, highlighted: highlight(code, language) }).slice(1)}`

  const query = async (name: string, text: string, values: readonly string[]) =>
    (await pool.query({ name, text, values: [...values], rowMode: 'array' })).rows as unknown as readonly Cells[]

  return {
    async retrieve(id: string): Promise<string | undefined> {
      const [row] = await query('a-retrieve', 'select id, title, code, language from snippets where id = $1', [id])
      return row && `{"snippet":${present(row)}}`
    },

    /** All records, in pieces. */
    async *list(): AsyncGenerator<string> {
      let separator = '{"snippets":['
      let last = '0'
      for (;;) {
        const text = 'select id, title, code, language from snippets where id > $1 order by id limit $2'
        const rows = await query('a-list', text, [last, String(BATCH)])
        if (rows.length > 0) yield separator + rows.map(present).join(',')
        else if (separator !== ',') yield separator
        separator = ','
        last = rows.at(-1)?.[0] ?? last
        if (rows.length < BATCH) break
      }
      yield ']}'
    },
  }
}
