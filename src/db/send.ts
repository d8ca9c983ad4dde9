import type pg from 'pg'
import type { Result, Statement } from './database.js'
import { textCells } from './parsers.js'

export interface Answer extends Result {
  /** The first word of the server's answer: what was really done. */
  readonly command: string
}

interface DriverResult {
  readonly rows: Result['rows']
  readonly fields: Result['columns']
  readonly rowCount: number | null
  readonly command: string
}

const NOTHING: DriverResult = { rows: [], fields: [], rowCount: 0, command: '' }

/** How statements are sent. */
export interface Sending {
  /** Milliseconds after which a statement without an answer counts as lost; the server's own limit comes first. */
  readonly patience: number | undefined
  /** Whether statements that have a name are prepared under it. */
  readonly prepare: boolean
}

/**
 * Sends a statement on one connection of the driver.
 * @throws the driver's error
 */
export function send(
  client: pg.ClientBase,
  { text, values, name }: Statement,
  { patience, prepare }: Sending,
): Promise<Answer> {
  const config = {
    text,
    values,
    name: prepare ? name : undefined,
    rowMode: 'array',
    types: textCells,
    query_timeout: patience,
  }
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null, results: DriverResult | readonly DriverResult[]) => {
      if (error) return reject(error)
      const { rows, fields, rowCount, command } = 'rows' in results ? results : (results.at(-1) ?? NOTHING)
      resolve({ rows, columns: fields, count: rowCount ?? 0, command })
    }
    // The driver's types know neither `query_timeout` nor that several statements at once give a list of results.
    void client.query(config as unknown as pg.QueryArrayConfig, settle as Parameters<typeof client.query>[1])
  })
}
