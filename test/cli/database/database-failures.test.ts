import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openDatabase } from '../../../src/db/open.js'
import { testDatabaseKind } from '../../support/database.js'
import { openShelves, type Shelves } from '../../support/shelves.js'

const YAML = `version: 1
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/ }
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
})
afterAll(() => shelves.remove())

// The embedded database has one session, so nothing can hold it up.
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

onServer('a failure of the database is not reported as a bug', async () => {
  const other = await openDatabase({ url: shelves.database?.url, directory: '' }, {})
  try {
    await other.transaction(async (connection) => {
      await connection.query({ text: 'lock table notes', values: [] })
      expect(await shelves.run('dump', 'note')).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'error: The database is busy with other changes\n  = help: see the state of the database: snippetctl doctor\n',
      })
    })
  } finally {
    await other.close()
  }
})
