import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Connection } from '../../src/db/database.js'
import type { TestDatabase } from './database.js'

/**
 * Describes the complete schema of a database as text, without the order of columns and the journal. Uses `pg_dump` if it is installed and as new as
 * the server; otherwise the information schema and PostgreSQL's catalogue.
 */
export async function describeSchema(database: Connection & Pick<TestDatabase, 'url'>): Promise<string> {
  const dumped = database.url === undefined ? undefined : await dump(database.url)
  return dumped ?? describeByViews(database)
}

async function dump(url: string): Promise<string | undefined> {
  const run = promisify(execFile)('pg_dump', ['--schema-only', '--no-owner', '--no-acl', url])
  const stdout = await run.then(
    (done) => done.stdout,
    () => undefined,
  )
  if (stdout === undefined) return undefined
  const statements = stdout
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('--') && !line.startsWith('\\'))
    .join('\n')
    .split(';\n')
  return statements
    .filter((statement) => !statement.includes('snippetctl_'))
    .map((statement) =>
      statement.startsWith('CREATE TABLE')
        ? statement
            .split('\n')
            .map((line) => line.replace(/,$/, ''))
            .sort()
            .join('\n')
        : statement,
    )
    .sort()
    .join(';\n')
}

const VIEWS = [
  `select table_name, column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, collation_name,
     is_nullable, column_default, is_identity, identity_generation
   from information_schema.columns where table_schema = 'public' and table_name not like 'snippetctl%' order by 1, 2`,
  `select conrelid::regclass::text, conname, contype::text, convalidated, condeferrable, pg_get_constraintdef(oid)
   from pg_constraint where connamespace = 'public'::regnamespace and conrelid <> 0
     and contype <> 'n' and conrelid::regclass::text not like 'snippetctl%' order by 1, 2`,
  `select tablename, indexname, indexdef from pg_indexes
   where schemaname = 'public' and tablename not like 'snippetctl%' order by 1, 2`,
  `select sequencename, data_type::text, start_value, min_value, max_value, increment_by from pg_sequences
   where schemaname = 'public' and sequencename not like 'snippetctl%' order by 1`,
]

async function describeByViews(database: Connection): Promise<string> {
  const parts: string[] = []
  for (const text of VIEWS) {
    const { rows } = await database.query({ text, values: [] })
    parts.push(rows.map((cells) => cells.map((cell) => cell ?? '-').join(' | ')).join('\n'))
  }
  return parts.join('\n\n')
}
