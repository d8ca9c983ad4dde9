import { hash } from 'node:crypto'
import { Problem } from '../../foundation/problem.js'
import type { Precondition } from '../../resource/plan.js'
import { acceptedCodings, codedTag } from './negotiation.js'
import type { Context, Reply } from '../route.js'

type Headers = Context['headers']

/**
 * One element of a list of entity tags (RFC 9110, 8.8.3): a weak mark, the content, and the comma or end that follows. Elements may be empty. The
 * blanks after a tag belong to its group, because two adjacent runs of blanks would take quadratic time.
 */
const ELEMENT = /[ \t]*(?:(W\/)?"([!#-~\x80-\xff]*)"[ \t]*)?(,|$)/y
/** SHA-256 in base64url, whose last character has two zero bits, and the coding in which the client has the record. */
const OURS = /^([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])(?:-(?:br|gzip))?$/

interface Tag {
  readonly weak: boolean
  readonly content: string
}

/** Returns the strong entity tag of a document: a hash of its bytes. */
export function entityTag(document: string): string {
  return `"${hash('sha256', document, 'base64url')}"`
}

/**
 * Returns the document with its tag; only the tag, as 304, if the client has the document already.
 * @throws Problem `malformed_request` for a malformed `If-Match`, `precondition_failed` if it does not list the tag (RFC 9110, 13.1.1)
 */
export function taggedReply({ headers }: Pick<Context, 'headers'>, document: string, tag: string): Reply {
  const match = headers['if-match']
  if (match !== undefined && !isMet(precondition('If-Match', String(match), true), tag)) {
    throw new Problem('precondition_failed', 'the record no longer has the version in If-Match')
  }
  const known = knownTag(headers, tag)
  return known === undefined
    ? { status: 200, headers: { ETag: tag }, text: document }
    : { status: 304, headers: { ETag: known } }
}

/** The tag in `If-None-Match` of a representation that the client has and accepts: without a coding, or in an accepted one. */
function knownTag(headers: Headers, tag: string): string | undefined {
  if (headers['if-none-match'] === undefined) return undefined
  const coded = acceptedCodings({ headers }).map((coding) => codedTag(tag, coding))
  return [tag, ...coded].find((each) => isKnown(headers, each))
}

/** Whether `If-None-Match` is `*` or lists this tag. */
export function isKnown(headers: Headers, tag: string): boolean {
  const known = headers['if-none-match']
  const tags = known === undefined ? undefined : readTags(String(known))
  return tags === 'any' || tags?.some(({ content }) => `"${content}"` === tag) === true
}

/**
 * Parses the preconditions of a write. A write without preconditions gives undefined. With `required`, a write without `If-Match` is rejected.
 * @throws Problem `malformed_request` for malformed headers, `precondition_required`
 */
export function readPreconditions(headers: Headers, required: boolean): readonly Precondition[] | undefined {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && required) {
    throw new Problem('precondition_required', "this resource requires If-Match with the record's ETag")
  }
  if (match === undefined && noneMatch === undefined) return undefined
  return [
    ...(match === undefined ? [] : [precondition('If-Match', String(match), true)]),
    ...(noneMatch === undefined ? [] : [precondition('If-None-Match', String(noneMatch), false)]),
  ]
}

function precondition(name: string, value: string, wanted: boolean): Precondition {
  const tags = readTags(value)
  if (tags === 'any') return { tags, wanted }
  if (tags === undefined) {
    throw new Problem('malformed_request', `${name} must be \`*\` or a list of entity tags, each in double quotes`)
  }
  // If-Match never matches a weak tag (RFC 9110, 13.1.1), and a tag that we did not make matches no record.
  const hashes = tags.flatMap(({ weak, content }) => (wanted && weak ? [] : (OURS.exec(content)?.[1] ?? [])))
  return { tags: hashes.map(toHex), wanted }
}

function isMet({ tags, wanted }: Precondition, tag: string): boolean {
  return (tags === 'any' || tags.includes(toHex(tag.slice(1, -1)))) === wanted
}

function toHex(content: string): string {
  return Buffer.from(content, 'base64url').toString('hex')
}

/** Returns undefined if the header is malformed. */
function readTags(value: string): readonly Tag[] | 'any' | undefined {
  if (value.trim() === '*') return 'any'
  const tags: Tag[] = []
  ELEMENT.lastIndex = 0
  for (;;) {
    const found = ELEMENT.exec(value)
    if (!found) return undefined
    const [, weak, content, end] = found
    if (content !== undefined) tags.push({ weak: weak !== undefined, content })
    if (end === '') return tags.length === 0 ? undefined : tags
  }
}
