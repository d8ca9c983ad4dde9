import { expect } from '@jest/globals'
import { encodeSegment } from '../../src/resource/keys/path-segment.js'
import type { Api } from './api.js'

interface Described {
  readonly operations: readonly string[]
  readonly primary_key: string | readonly string[] | null
  readonly fields: Readonly<Record<string, { readonly read_only: boolean }>>
}

type Requests = Pick<Api, 'fetch' | 'send'>
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
export async function sendBackAll(api: Requests, path: string): Promise<readonly Shown[]> {
  const { operations, primary_key: key } = (await read(await api.fetch(path, { method: 'OPTIONS' }))) as Described
  const records = await listAll(api, path)
  if (key === null) {
    expect(operations).toEqual(['list'])
    return records
  }
  for (const record of records) {
    const at = pathOf(path, key, record)
    expect([at, await read(await api.fetch(at))]).toEqual([at, record])
    for (const method of ['PUT', 'PATCH']) {
      if (!operations.includes(method === 'PUT' ? 'update' : 'partial_update')) continue
      const response = await api.send(method, at, record)
      expect([method, at, response.status, await read(response)]).toEqual([method, at, 200, record])
    }
  }
  return records
}

/** Deletes each record that nothing refers to, and creates it again with the fields that clients may write. */
export async function createAllAgain(api: Api, path: string): Promise<void> {
  const described = (await read(await api.fetch(path, { method: 'OPTIONS' }))) as Described
  const { operations, primary_key: key, fields } = described
  if (key === null || !operations.includes('create') || !operations.includes('destroy')) return
  const written = (record: Shown) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => fields[name]?.read_only === false))
  for (const record of await listAll(api, path)) {
    const deleted = await api.fetch(pathOf(path, key, record), { method: 'DELETE' })
    expect([path, [204, 409].includes(deleted.status)]).toEqual([path, true])
    await deleted.text()
    if (deleted.status === 409) continue
    const made = await api.send('POST', path, written(record))
    const answer = (await read(made)) as Shown
    expect([path, made.status, answer]).toEqual([path, 201, answer])
    expect(written(answer)).toEqual(written(record))
  }
}

const pathOf = (path: string, key: string | readonly string[], record: Shown): string =>
  `${path}${[key]
    .flat()
    .map((name) => encodeSegment(String(record[name])))
    .join('/')}/`

/** All pages of a list. */
async function listAll(api: Requests, path: string): Promise<readonly Shown[]> {
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
