import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'

test('the example of a text key is not the empty text, which no path can have', async () => {
  const api = await startApi(`version: 1
models:
  customer:
    table: customers
    fields: { customer_identifier: { type: string, max: 5, primary_key: true }, note: { type: string, max: 5 } }
resources:
  customer: { model: customer, path: /customers/ }
`)
  try {
    const { components } = (await (await api.fetch('/openapi.json')).json()) as {
      components: { schemas: Record<string, { properties: Record<string, { examples: readonly unknown[] }> }> }
    }
    const [example] = components.schemas['CustomerCreate']?.properties['customer_identifier']?.examples ?? []
    expect(example === undefined || String(example).length > 0).toBe(true)
    expect(components.schemas['CustomerCreate']?.properties['note']?.examples).toEqual(['Note'])
  } finally {
    await api.close()
  }
})

test('an empty default of a key is left out, because clients cannot send it', async () => {
  const api = await startApi(`version: 1
models:
  tag:
    table: tags
    primary_key: [item, name]
    fields:
      item: { type: integer }
      name: { type: string, max: 5, default: '' }
      note: { type: string, max: 5, default: '' }
resources:
  tag: { model: tag, path: /tags/ }
`)
  try {
    const { components } = (await (await api.fetch('/openapi.json')).json()) as {
      components: { schemas: Record<string, { properties: Record<string, object> }> }
    }
    const { name, note } = components.schemas['TagCreate']?.properties ?? {}
    expect(name).not.toHaveProperty('default')
    expect(note).toHaveProperty('default', '')
  } finally {
    await api.close()
  }
})
