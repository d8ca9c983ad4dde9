import type pg from 'pg'
import { type Answer, CellQuery, type Sending } from './cell-query.js'
import type { Statement } from './database.js'

/**
 * Sends a statement on one connection of the driver.
 * @throws the driver's error
 */
export function send(client: pg.ClientBase, statement: Statement, sending: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    client.query(new CellQuery(statement, sending, (error, answer) => (error ? reject(error) : resolve(answer))))
  })
}
