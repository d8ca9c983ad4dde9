import { createRequire } from 'node:module'
import type { Knex, knex as KnexFactory } from 'knex'

const silent = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore }

function ignore(): void {}

/** Creates a Knex instance over one of our pools. Knex is loaded on first use, because it takes longer to load than everything else. */
export function makeKnex(connectionPool: NonNullable<Knex.Config['connectionPool']>): Knex {
  const { knex } = createRequire(import.meta.url)('knex') as { readonly knex: typeof KnexFactory }
  // With a version, Knex does not query the server for it. It only checks whether the version is very old.
  return knex({ client: 'pg', version: '14', connectionPool, log: silent })
}
