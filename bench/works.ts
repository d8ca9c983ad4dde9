import { NEW_CODE } from './rows.js'

/** Requests of one kind. In all texts `{id}` stands for a random row's id, and `{language}` for its language. */
export interface RequestSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body?: string
  /** The value of `Authorization`. */
  readonly authorization?: string
}

/** A kind of work to measure. */
export interface Work {
  readonly title: string
  readonly request: (rows: number) => RequestSpec
  /** Only for contestants that implement Set A. */
  readonly setA?: true
  /** The rows must be restored afterwards. */
  readonly writes?: true
  /** Skipped for larger tables. */
  readonly mostRows?: number
  /** The maximum ratio of our CPU to the floor's. */
  readonly target?: number
}

const SET_B = '/api/snippets-viewset/'
const SET_A = '/api/snippets/'
const RECORD = JSON.stringify({ title: 'Sample {id}', code: NEW_CODE, language: '{language}' })

/** Reads precede writes, so that all of them see the original table. */
export const WORKS: ReadonlyMap<string, Work> = new Map<string, Work>([
  ['retrieve', { title: 'retrieve', request: () => ({ method: 'GET', path: `${SET_B}{id}/` }), target: 0.9 }],
  ['list10', { title: 'list of 10, first page', request: () => ({ method: 'GET', path: SET_B }), target: 1 }],
  [
    'filtered',
    {
      title: 'list of 10, filtered and ordered',
      request: () => ({ method: 'GET', path: `${SET_B}?language={language}&ordering=-created_at` }),
      target: 1,
    },
  ],
  [
    'list100',
    { title: 'list of 100', request: () => ({ method: 'GET', path: `${SET_B}?page_size=100` }), target: 0.8 },
  ],
  [
    'deep',
    {
      title: 'list of 10, page near the end',
      request: (rows) => ({ method: 'GET', path: `${SET_B}?page=${Math.max(1, Math.floor(rows / 10) - 1)}` }),
    },
  ],
  [
    'a-retrieve',
    { title: 'Set A retrieve', request: () => ({ method: 'GET', path: `${SET_A}{id}/` }), setA: true, target: 1.2 },
  ],
  ['a-list', { title: 'Set A list', request: () => ({ method: 'GET', path: SET_A }), setA: true, mostRows: 1_000 }],
  [
    'create',
    { title: 'create', request: () => ({ method: 'POST', path: SET_B, body: RECORD }), writes: true, target: 1.15 },
  ],
  [
    'update',
    {
      title: 'update',
      request: () => ({ method: 'PUT', path: `${SET_B}{id}/`, body: RECORD }),
      writes: true,
      target: 1.15,
    },
  ],
  [
    'patch',
    {
      title: 'partial update',
      request: () => ({ method: 'PATCH', path: `${SET_B}{id}/`, body: JSON.stringify({ title: 'Sample {id}' }) }),
      writes: true,
      target: 1.15,
    },
  ],
])

/** Finds a work by its name, which was validated with the options. */
export function workNamed(name: string): Work {
  const work = WORKS.get(name)
  if (work === undefined) throw new Error(`there is no work named ${name}`)
  return work
}

/** Inserts the id of a row and its language into a text. */
export function fill(template: string, id: number, language: string): string {
  return template.replaceAll('{id}', String(id)).replaceAll('{language}', language)
}
