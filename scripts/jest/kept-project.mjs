import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openDatabase } from '../../dist/src/internal.js'
import { EMPTY } from './embedded-databases.mjs'

/** Settings of databases and roles apply to sessions that start later. */
const HAS_SETTINGS = 'select exists (select from pg_db_role_setting)::text'

/** The embedded database that a command has closed: its folder, and its state when it was empty, if it was opened then. */
let kept

/**
 * Opens the database of a project, as the program does. Opening an embedded one takes longer than most commands, so it stays open until it is released
 * or one in another folder is opened.
 */
export async function openKeptProject(choice, env) {
  if (choice.url !== undefined) return openDatabase(choice, env)
  const directory = resolve(choice.directory)
  if (kept?.directory !== directory) await releaseKeptProject()
  const opened = kept ?? (await open(choice, env))
  const { database } = opened
  kept = undefined
  const end = async () => {
    const { rows } = await send(database, HAS_SETTINGS)
    if (rows[0][0] === 'true') return database.close()
    await send(database, 'reset all')
    kept = { ...opened, directory }
  }
  let ended
  return Object.create(database, { close: { value: () => (ended ??= end()) } })
}

/** Empties the database that is kept. If there is none, or it does not become as it was, returns false, and it is closed. */
export async function emptyKeptProject() {
  const { database, empty } = kept ?? {}
  if (empty !== undefined) {
    await send(database, EMPTY)
    if ((await stateOf(database)) === empty) return true
  }
  await releaseKeptProject()
  return false
}

/** Closes the database that is kept. */
export async function releaseKeptProject() {
  const { database } = kept ?? {}
  kept = undefined
  await database?.close()
}

async function open(choice, env) {
  const isNew = !existsSync(choice.directory)
  const database = await openDatabase(choice, env)
  if (!isNew) return { database }
  await send(database, EMPTY)
  return { database, empty: await stateOf(database) }
}

const CATALOGS = `
  select relname from pg_class
  where relkind = 'r' and relnamespace = 'pg_catalog'::regnamespace and relname not in ('pg_statistic', 'pg_attribute') order by 1`
let counts

/** Counts the objects of every kind. */
async function stateOf(database) {
  if (counts === undefined) {
    const { rows } = await send(database, CATALOGS)
    counts = `select concat_ws(' ', ${rows.map(([name]) => `(select count(*) from ${name})`).join()})`
  }
  return (await send(database, counts)).rows[0][0]
}

function send(database, text) {
  return database.query({ text, values: [] })
}
