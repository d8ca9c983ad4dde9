import { createRequire } from 'node:module'
import type { Knex, knex as KnexFactory } from 'knex'
import type { Connection, Statement } from './database.js'

const silent = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore }

function ignore(): void {}

/** Creates a Knex instance over one of our pools. Knex is loaded on first use, because it takes longer to load than everything else. */
export function makeKnex(connectionPool: NonNullable<Knex.Config['connectionPool']>): Knex {
  const { knex } = createRequire(import.meta.url)('knex') as { readonly knex: typeof KnexFactory }
  // With a version, Knex does not query the server for it. It only checks whether the version is very old.
  return knex({ client: 'pg', version: '14', connectionPool, log: silent })
}

/** Creates a Knex instance that sends read-only statements through the given connection: in its transaction, under its resource, with its errors. */
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
      // Knex adds the statement to the message of the error that it receives.
      (cause: unknown) => answer(new StatementFailed('a statement of knex failed', { cause })),
    )
  }
}

/** A failed statement; the cause is the connection's error. */
export class StatementFailed extends Error {
  override name = 'StatementFailed'
}
