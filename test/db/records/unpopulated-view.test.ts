import { expect, test } from '@jest/globals'
import { startApi } from '../../support/api.js'
import { openTestDatabase } from '../../support/database.js'

const YAML = `version: 1
api: { prefix: "", explore: true }
models:
  sale: { table: sales, managed: false, primary_key: none, fields: { total: { type: bigint, nullable: true } } }
resources:
  sale: { model: sale, path: /sales/, operations: [list], export: true }
`

test('a materialized view without data is 503 until it is refreshed; other routes work', async () => {
  const database = await openTestDatabase('create materialized view sales as select 5::bigint as total with no data')
  const api = await startApi(YAML, { database })
  try {
    for (const path of ['/sales/', '/sales/export.json']) {
      const response = await api.fetch(path)
      expect([path, response.status]).toEqual([path, 503])
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(await response.json()).toMatchObject({
        type: '/problems/unavailable',
        detail: 'The database is not set up for what this request does',
      })
    }
    expect((await api.fetch('/explore/sales/')).status).toBe(503)
    expect((await api.fetch('/')).status).toBe(200)
    await database.query({ text: 'refresh materialized view sales', values: [] })
    expect(await (await api.fetch('/sales/')).json()).toEqual([{ total: 5 }])
  } finally {
    await api.close()
    await database.close()
  }
})
