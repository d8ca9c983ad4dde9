import type { IncomingMessage } from 'node:http'

/** A snippet as clients send it; a partial update may omit fields. */
export type Snippet = Readonly<Record<'title' | 'code' | 'language', string>>

/** Why a body is rejected. */
export class Rejection extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const MOST = { title: 100, code: 10_000, language: 50 } as const
const NAMES = ['title', 'code', 'language'] as const
const IGNORED = new Set(['id', 'created_at'])
const LIMIT = 1024 * 1024
// PostgreSQL can store neither U+0000 nor lone surrogates.
const UNSTORABLE = /\0/

/** Reads a complete JSON body. @throws Rejection */
export async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (request.headers['content-type'] !== 'application/json') throw new Rejection(415, 'application/json is expected')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > LIMIT) throw new Rejection(413, 'the body is too large')
    chunks.push(chunk)
  }
  let body: unknown
  try {
    body = JSON.parse((chunks[0] !== undefined && chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString())
  } catch {
    throw new Rejection(400, 'the body is not JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Rejection(400, 'the body is no object')
  return body as Readonly<Record<string, unknown>>
}

/** Validates the three fields by hand. @throws Rejection */
export function judge(body: Readonly<Record<string, unknown>>, partial: boolean): Partial<Snippet> {
  const unknown = Object.keys(body).find((name) => !(name in MOST) && !IGNORED.has(name))
  if (unknown !== undefined) throw new Rejection(400, `there is no field ${unknown}`)
  const kept: { -readonly [name in keyof Snippet]?: string } = {}
  for (const name of NAMES) {
    const value = body[name]
    if (value === undefined && partial) continue
    if (typeof value !== 'string') throw new Rejection(400, `${name} must be a string`)
    const most = MOST[name]
    // A string has at most as many characters as code units; characters are counted only if that is not enough.
    const length = value.length <= most ? value.length : [...value].length
    if (length < 1 || length > most) throw new Rejection(400, `${name} must be between 1 and ${most} characters`)
    if (UNSTORABLE.test(value) || !value.isWellFormed()) throw new Rejection(400, `${name} holds what no text can`)
    kept[name] = value
  }
  return kept
}
