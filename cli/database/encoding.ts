import type { Database } from '../../src/internal.js'

/** Returns a warning, with help, if the encoding of the database is SQL_ASCII. */
export async function encodingWarning(database: Database): Promise<{ message: string; help: string } | undefined> {
  const { rows } = await database.query({ text: `select current_setting('server_encoding')`, values: [] })
  if (rows[0]?.[0] !== 'SQL_ASCII') return undefined
  return {
    message:
      'the encoding of the database is SQL_ASCII: it stores text as bytes, measures lengths in bytes, and may return bytes that are not UTF-8',
    help: 'load a dump into a new database: createdb --template template0 --encoding UTF8 NAME',
  }
}
