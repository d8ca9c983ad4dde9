import { openScratch } from '../../dist/src/internal.js'
import { STATE } from './embedded-databases.mjs'

/** Also differs if an object or a prepared statement is left. */
const WHOLE_STATE = `
  select ((${STATE}),
    (select array_agg(nspname order by nspname) from pg_namespace),
    (select count(*) from pg_class), (select count(*) from pg_proc), (select count(*) from pg_type),
    (select count(*) from pg_prepared_statements where from_sql))::text`

/** After this many commands a database is replaced, because the leftovers of transactions that were rolled back make it slow. */
const MAX_COMMANDS = 50

/** The database that a command has closed and the next one opens. */
let kept
/** How many commands have used it. */
let commands = 0

/** Opens an empty embedded database, as the program does. Starting one takes longer than most commands, so the last one is kept if nothing is left in it. */
export async function openKeptScratch() {
  if (kept === undefined) commands = 0
  const database = kept ?? (await openScratch())
  kept = undefined
  commands += 1
  const before = await stateOf(database)
  const close = async () => {
    await database.query({ text: 'reset all', values: [] })
    if (kept === undefined && commands < MAX_COMMANDS && (await stateOf(database)) === before) kept = database
    else await database.close()
  }
  return Object.create(database, { close: { value: close } })
}

/** Closes the database that is kept, which removes its files. */
export async function closeKeptScratch() {
  await kept?.close()
}

async function stateOf(database) {
  const { rows } = await database.query({ text: WHOLE_STATE, values: [] })
  return rows[0][0]
}
