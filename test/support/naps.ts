import type { Database } from '../../src/db/database.js'

/** Controls the SQL function `nap()`. A fixed time of sleep may be over before a busy test looks. */
export interface Naps {
  /** From now on, `nap()` does not return. */
  begin(): Promise<unknown>
  /** Lets `nap()` return: calls in progress, and later ones. */
  end(): Promise<unknown>
}

/** Creates `nap()` in a database of a server, for statements that other sessions run. */
export async function createNaps(database: Database): Promise<Naps> {
  const sql = (text: string) => database.query({ text, values: [] })
  await sql(`create table asleep ();
    create function nap() returns void language plpgsql as $$
      begin while exists (select from asleep) loop perform pg_sleep(0.01); end loop; end $$`)
  return { begin: () => sql('insert into asleep default values'), end: () => sql('delete from asleep') }
}
