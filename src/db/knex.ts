import { createRequire } from 'node:module'
import type { Knex, knex as KnexFactory } from 'knex'
import type { Connection, Statement } from './database.js'

const silent = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore }

function ignore(): void {}

/** Knex over a pool of ours. It is loaded at first use, because it takes longer to load than all the rest. */
export function makeKnex(connectionPool: NonNullable<Knex.Config['connectionPool']>): Knex {
  const { knex } = createRequire(import.meta.url)('knex') as { readonly knex: typeof KnexFactory }
  // A version spares knex the question; it only asks whether it is very old.
  return knex({ client: 'pg', version: '14', connectionPool, log: silent })
}

/** Knex whose statements, which only read, are sent by a connection of ours: in its transaction, for a resource, and failing as its own do. */
export function knexOn(connection: Connection, resource: string): Knex {
  const client = { query: answerKnex(connection, resource), release: ignore }
  const counts = { totalCount: 1, idleCount: 1, waitingCount: 0 }
  return makeKnex({ ...counts, connect: () => Promise.resolve(client), end: () => Promise.resolve() })
}

type Answer = (error: Error | null, response?: unknown) => void

function answerKnex(connection: Connection, resource: string) {
  return ({ text, values }: Statement, answer: Answer): void => {
    connection.query({ text, values, retry: true, resource }).then(
      ({ rows, columns }) => {
        const named = rows.map((cells) => Object.fromEntries(columns.map(({ name }, index) => [name, cells[index]])))
        answer(null, { command: 'SELECT', rows: named })
      },
      // Knex writes the statement into the message of the error that it is given.
      (cause: unknown) => answer(new StatementFailed('a statement of knex failed', { cause })),
    )
  }
}

/** Holds, as its cause, the error of the connection. */
export class StatementFailed extends Error {
  override name = 'StatementFailed'
}
