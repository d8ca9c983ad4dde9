import type { Random } from '../random.js'
import {
  ABSENT_IDS,
  BAD_IDS,
  BAD_QUERIES,
  GOOD_QUERIES,
  HEADS,
  MEDIA,
  METHODS,
  MISFITS,
  NOWHERE,
  TEXTS,
  UNREADABLE,
  WORSE_IDS,
} from './values.js'

/** The kind of endpoint that a path leads to. */
export type Target = 'a-list' | 'a-detail' | 'a-config' | 'b-list' | 'b-detail' | 'pages' | 'nowhere'

/** Whether a body is a record, parts of one, none, no JSON object at all, or too large to be looked at. */
export type BodyKind = 'record' | 'part' | 'misfit' | 'unreadable' | 'huge'

/** One request with everything that the model needs to know of it. */
export interface Sample {
  readonly method: string
  readonly target: Target
  /** undefined for an id that no record can have. */
  readonly id: string | undefined
  readonly path: string
  readonly query: { readonly text: string; readonly good: boolean }
  readonly head: {
    readonly lines: readonly string[]
    /** The status that the head alone causes. */
    readonly status?: number
    /** A special request to generated endpoints. */
    readonly asks?: 'no JSON' | 'another version' | 'from another site'
  }
  readonly media: { readonly line: string; readonly kind: 'json' | 'patch' | 'none' | 'other' }
  readonly body: { readonly kind: BodyKind; readonly bytes: Buffer; readonly fields: Readonly<Record<string, string>> }
}

const JSON_MEDIA: Sample['media'] = { line: 'Content-Type: application/json', kind: 'json' }
const LONGEST = { title: 100, code: 10_000, language: 50 } as const
const FIELDS = ['title', 'code', 'language'] as const

/** A random request: half of its parts are valid, the others are edge cases. */
export function sample(random: Random, ids: readonly string[]): Sample {
  const { target, id, path } = drawPath(random, ids)
  const method = random.pick(METHODS)
  const good = random.chance(0.6)
  return {
    method,
    target,
    id,
    path,
    query: random.chance(0.5)
      ? { text: '', good: true }
      : { text: random.pick(good ? GOOD_QUERIES : BAD_QUERIES), good },
    head: random.chance(0.85) ? { lines: [] } : random.pick(HEADS),
    media: random.chance(0.85) ? JSON_MEDIA : random.pick(MEDIA),
    body: drawBody(random),
  }
}

function drawPath(random: Random, ids: readonly string[]): Pick<Sample, 'target' | 'id' | 'path'> {
  const set = random.pick(['a', 'b'] as const)
  const base = set === 'a' ? '/api/snippets' : '/api/snippets-viewset'
  const slash = random.chance(0.9) ? '/' : ''
  const die = random.next()
  if (die < 0.3) return { target: `${set}-list`, id: undefined, path: `${base}${slash}` }
  if (die < 0.35) return { target: 'a-config', id: undefined, path: `/api/snippets/config${slash}` }
  if (die < 0.42) {
    const path = random.pick(NOWHERE)
    return { target: path === '/' ? 'pages' : 'nowhere', id: undefined, path }
  }
  if (die < 0.55)
    return {
      target: `${set}-detail`,
      id: undefined,
      path: `${base}/${random.pick([...BAD_IDS, ...WORSE_IDS])}${slash}`,
    }
  const id = ids.length > 0 && random.chance(0.8) ? random.pick(ids) : random.pick(ABSENT_IDS)
  return { target: `${set}-detail`, id, path: `${base}/${id}${slash}` }
}

function drawBody(random: Random): Sample['body'] {
  const die = random.next()
  if (die < 0.15) return { kind: 'unreadable', bytes: toBytes(random.pick(UNREADABLE)), fields: {} }
  if (die < 0.16) return { kind: 'huge', bytes: Buffer.alloc(1_100_000, 0x20), fields: {} }
  const fields: Record<string, string> = Object.fromEntries(
    FIELDS.map((name) => [name, drawText(random, LONGEST[name])]),
  )
  const members = Object.entries(fields).map(([name, text]) => `"${name}":${toJson(random, text)}`)
  if (die < 0.6) return { kind: 'record', bytes: Buffer.from(`{${shuffle(random, members).join()}}`), fields }
  const name = random.pick(FIELDS)
  if (die < 0.75)
    return {
      kind: 'part',
      bytes: Buffer.from(`{${members.find((member) => member.startsWith(`"${name}"`))}}`),
      fields: { [name]: fields[name] ?? '' },
    }
  if (die < 0.85) return { kind: 'misfit', bytes: Buffer.from(`{${members.join()},"admin":true}`), fields: {} }
  if (die < 0.9)
    return { kind: 'misfit', bytes: Buffer.from(`{"${name}":"${'x'.repeat(LONGEST[name] + 1)}"}`), fields: {} }
  return { kind: 'misfit', bytes: Buffer.from(`{"${name}":${random.pick(MISFITS)}}`), fields: {} }
}

function drawText(random: Random, most: number): string {
  const text = random.chance(0.4) ? random.pick(TEXTS) : `text ${random.between(1, 1_000)}`
  // The longest that is allowed, in characters and not in units of UTF-16.
  return random.chance(0.05) ? [...text.repeat(most)].slice(0, most).join('') : [...text].slice(0, most).join('')
}

/** The same text in different spellings. */
function toJson(random: Random, text: string): string {
  const json = JSON.stringify(text)
  if (random.chance(0.8)) return json
  return json.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function shuffle(random: Random, values: readonly string[]): string[] {
  return values
    .map((value) => ({ value, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value)
}

function toBytes(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text
}

/** The request as it goes over the wire. */
export function toWire({ method, path, query, head, media, body }: Sample, chunked: boolean): Buffer {
  const target = query.text === '' ? path : `${path}?${query.text}`
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.bytes.length}`
  const withBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...head.lines]
  if (withBody) lines.push(framing, ...(media.line === '' ? [] : [media.line]))
  const start = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (!withBody) return start
  if (!chunked) return Buffer.concat([start, body.bytes])
  const size = body.bytes.length === 0 ? '' : `${body.bytes.length.toString(16)}\r\n`
  const end = body.bytes.length === 0 ? '0\r\n\r\n' : '\r\n0\r\n\r\n'
  return Buffer.concat([start, Buffer.from(size), body.bytes, Buffer.from(end)])
}
