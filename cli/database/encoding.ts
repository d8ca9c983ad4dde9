import type { Database } from '../../src/internal.js'

/** Returns a warning, with help, about a database that does not know the characters of its texts; undefined for any other. */
export async function unknownEncoding(database: Database): Promise<{ message: string; help: string } | undefined> {
  const { rows } = await database.query({ text: `select current_setting('server_encoding')`, values: [] })
  if (rows[0]?.[0] !== 'SQL_ASCII') return undefined
  return {
    message:
      'the encoding of the database is SQL_ASCII: it does not know the characters of its texts, measures them in bytes, and may return bytes that are not UTF-8',
    help: 'load a dump into a new database: createdb --template template0 --encoding UTF8 NAME',
  }
}
