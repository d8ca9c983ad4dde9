import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const CONFIG = `
version: 1
models:
  doc:
    table: docs
    fields:
      id: { type: uuid, primary_key: true }
      title: { type: string, max: 100 }
resources:
  doc: { model: doc, path: /docs/, bulk: [destroy] }
mounts:
  - { path: /admin-api, dialect: json-server }
`

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG)
})
afterAll(() => api.close())

test.each(['/api/docs/', '/admin-api/docs/'])(
  '%s recognises a UUID that is given twice, once in capitals',
  async (path) => {
    const { id } = (await (await api.send('POST', '/api/docs/', { title: 'One' })).json()) as { id: string }
    const answer = await api.fetch(`${path}?ids=${id},${id.toUpperCase()}`, { method: 'DELETE' })
    expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([
      400,
      `the parameter ids names \`${id.toUpperCase()}\` twice`,
    ])
    expect((await api.fetch(`/api/docs/${id}/`)).status).toBe(200)
  },
)
