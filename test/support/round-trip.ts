import { expect } from '@jest/globals'
import { encodeSegment } from '../../src/resource/path-segment.js'
import type { Api } from './api.js'

interface Described {
  readonly operations: readonly string[]
  readonly primary_key: string | readonly string[] | null
  readonly fields: Readonly<Record<string, { readonly read_only: boolean }>>
}

type Shown = Readonly<Record<string, unknown>>

/** The text of a table's rows, however they are ordered. */
export async function rowsOf({ database }: Api, table: string): Promise<readonly string[]> {
  const { rows } = await database.query({ text: `select t::text from ${table} t`, values: [] })
  return rows.map(([text]) => text ?? '').sort()
}

/**
 * Lists the records of a resource, finds each by its path, and sends each back as it was read, by PUT and by PATCH.
 * @returns the records
 */
export async function sendBackAll(api: Api, path: string): Promise<readonly Shown[]> {
  const { operations, primary_key: key } = (await read(await api.fetch(path, { method: 'OPTIONS' }))) as Described
  const records = await listAll(api, path)
  if (key === null) {
    expect(operations).toEqual(['list'])
    return records
  }
  for (const record of records) {
    const segments = [key].flat().map((name) => encodeSegment(String(record[name])))
    const at = `${path}${segments.join('/')}/`
    expect([at, await read(await api.fetch(at))]).toEqual([at, record])
    for (const method of ['PUT', 'PATCH']) {
      if (!operations.includes(method === 'PUT' ? 'update' : 'partial_update')) continue
      const response = await api.send(method, at, record)
      expect([method, at, response.status, await read(response)]).toEqual([method, at, 200, record])
    }
  }
  return records
}

/** All pages of a list. */
async function listAll(api: Api, path: string): Promise<readonly Shown[]> {
  const records: Shown[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const response: Response = await api.fetch(next)
    expect([next, response.status]).toEqual([next, 200])
    records.push(...((await read(response)) as readonly Shown[]))
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  }
  return records
}

async function read(response: Response): Promise<unknown> {
  return JSON.parse(await response.text())
}
