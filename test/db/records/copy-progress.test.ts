import { expect, test } from '@jest/globals'
import { copyRecords } from '../../../src/internal.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase } from '../../support/database.js'

const YAML = `version: 1
models:
  author: { table: authors, fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 50 } } }
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, author: { type: belongs_to, model: author } } }
`

test('copying records reports every row twice: when it is copied, and when it is compared', async () => {
  const spec = specOf(YAML)
  const [source, target] = [await openTestDatabase(ddlOf(spec)), await openTestDatabase(ddlOf(spec))]
  try {
    await source.query({
      text: `insert into authors (name) select 'Author ' || n from generate_series(1, 3000) n`,
      values: [],
    })
    await source.query({ text: 'insert into books (author_id) values (1), (2)', values: [] })
    const steps: [done: number, total: number, table: string][] = []
    const { tables } = await copyRecords(source, target, spec, {
      digestMade: () => Promise.reject(new Error('the target has no rows')),
      onProgress: (...step) => steps.push(step),
    })
    expect([...tables]).toEqual([
      ['authors', 3000],
      ['books', 2],
    ])
    const done = steps.map(([each]) => each)
    expect(done).toEqual(done.toSorted((a, b) => a - b))
    expect(steps.length).toBeGreaterThan(4)
    expect(steps.at(-1)).toEqual([6004, 6004, 'books'])
    expect(steps.find(([, , table]) => table === 'books')).toEqual([6002, 6004, 'books'])
  } finally {
    await source.close()
    await target.close()
  }
})
