import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { openTestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const YAML = `version: 1
database: { managed: false }
models:
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      years: { type: array, items: { type: integer, nullable: true } }
resources:
  book: { model: book, path: /books/, filterable: { years: [has, contains, overlaps] } }
`

/** Like those of the extension intarray, the operators are for lists of integers, and reject a list with null. */
const OPERATORS = ['@>', '&&'].map(
  (operator) => `create operator ${operator} (leftarg = integer[], rightarg = integer[], function = compare_strictly)`,
)

test('filters of lists of integers use the operators of PostgreSQL, not those of an extension', async () => {
  const database = await openTestDatabase('')
  await runSql(
    database,
    `create table books (id serial primary key, years integer[] not null);
     insert into books (years) values ('{1999,null}'), ('{2000}');
     create function compare_strictly(integer[], integer[]) returns boolean language plpgsql
       as $$ begin raise exception 'array must not contain nulls' using errcode = '22004'; end $$;
     ${OPERATORS.join(';\n')}`,
  )
  const api = await startApi(YAML, { database })
  try {
    for (const filter of ['years__has=1999', 'years__contains=1999', 'years__overlaps=1999,2001']) {
      const response = await api.fetch(`/api/books/?${filter}`)
      expect([response.status, await response.json()]).toEqual([200, [{ id: 1, years: [1999, null] }]])
    }
  } finally {
    await api.close()
    await database.close()
  }
})
