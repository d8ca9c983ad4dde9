import { hash } from 'node:crypto'
import { Problem } from '../../foundation/problem.js'
import type { DocumentParts } from '../../resource/computed.js'
import type { Precondition } from '../../resource/plan.js'
import { acceptedCodings, codedTag, CODINGS, type Coding } from './negotiation.js'
import type { Context, Reply } from '../route.js'

type Headers = Context['headers']

/**
 * One element of a list of entity tags (RFC 9110, 8.8.3): a weak mark, the content, and the comma or end that follows. Elements may be empty. The
 * blanks after a tag belong to its group, because two adjacent runs of blanks would take quadratic time.
 */
const ELEMENT = /[ \t]*(?:(W\/)?"([!#-~\x80-\xff]*)"[ \t]*)?(,|$)/y
/** SHA-256 in base64url, whose last character has two zero bits, the hash of the computed fields, and the coding in which the client has it. */
const OURS = /^([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])(?:-[A-Za-z0-9_-]{22})?(?:-(?:br|gzip))?$/

interface Tag {
  readonly weak: boolean
  readonly content: string
}

/** Returns the strong entity tag of a document: a hash of its bytes. */
export function entityTag(document: string): string {
  return `"${hash('sha256', document, 'base64url')}"`
}

/**
 * Returns the strong entity tag of a record. Writes compare only the hash of the stored fields, but the representation also changes with fields that
 * are hidden and computed from.
 */
export function recordTag({ stored, computed }: DocumentParts): string {
  const tag = entityTag(stored)
  return computed === '' ? tag : `${tag.slice(0, -1)}-${hash('sha256', computed, 'base64url').slice(0, 22)}"`
}

/**
 * Returns the document with its tag; only the tag, as 304, if the client has the document already.
 * @throws Problem `malformed_request` for a malformed `If-Match`, `precondition_failed` if it does not list the tag (RFC 9110, 13.1.1)
 */
export function taggedReply({ headers }: Pick<Context, 'headers'>, document: string, tag: string): Reply {
  const match = headers['if-match']
  if (match !== undefined && !isMatched(requiredTags('If-Match', String(match)), tag)) {
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
  return inCodings(tag, acceptedCodings({ headers })).find((each) => isKnown(headers, each))
}

/** Whether `If-Match` is met by this tag in any coding. It never matches a weak tag (RFC 9110, 13.1.1). */
function isMatched(tags: readonly Tag[] | 'any', tag: string): boolean {
  if (tags === 'any') return true
  const own = inCodings(tag, CODINGS)
  return tags.some(({ weak, content }) => !weak && own.includes(`"${content}"`))
}

function inCodings(tag: string, codings: readonly Coding[]): readonly string[] {
  return [tag, ...codings.map((coding) => codedTag(tag, coding))]
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
  const tags = requiredTags(name, value)
  if (tags === 'any') return { tags, wanted }
  // If-Match never matches a weak tag (RFC 9110, 13.1.1), and a tag that we did not make matches no record.
  const hashes = tags.flatMap(({ weak, content }) => (wanted && weak ? [] : (OURS.exec(content)?.[1] ?? [])))
  return { tags: hashes.map(toHex), wanted }
}

function requiredTags(name: string, value: string): readonly Tag[] | 'any' {
  const tags = readTags(value)
  if (tags !== undefined) return tags
  throw new Problem('malformed_request', `${name} must be \`*\` or a list of entity tags, each in double quotes`)
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
