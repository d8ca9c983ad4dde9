import { expect, test } from '@jest/globals'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { startApi } from '../../support/api.js'
import { openTestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { createAllAgain, rowsOf, sendBackAll } from '../../support/round-trip.js'

/** PostgreSQL allows 1600 columns. */
const COLUMNS = 1600

test('a table with as many columns as PostgreSQL allows is read and written', async () => {
  const database = await openTestDatabase('')
  try {
    const columns = Array.from({ length: COLUMNS - 1 }, (_, at) => `measured_${at} integer`)
    await runSql(
      database,
      `create table stations (id integer primary key, ${columns.join(', ')}); insert into stations (id) values (1)`,
    )
    const { text } = await introspect(database, { file: 'resources.yaml', directory: 'nowhere' })
    const api = await startApi(text, { database, checkResponses: false })
    try {
      const before = await rowsOf(api, 'stations')
      const records = await sendBackAll(api, '/api/stations/')
      expect(records.map((record) => Object.keys(record).length)).toEqual([COLUMNS])
      await createAllAgain(api, '/api/stations/')
      expect(await rowsOf(api, 'stations')).toEqual(before)
    } finally {
      await api.close()
    }
  } finally {
    await database.close()
  }
})
