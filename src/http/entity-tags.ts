import { hash } from 'node:crypto'
import { Problem } from '../problem.js'
import type { Precondition } from '../resource/plan.js'
import type { Context, Reply } from './route.js'

type Headers = Context['headers']

/**
 * One element of a list of entity tags (RFC 9110, 8.8.3): a weak mark, the content, and the comma or end that follows. Elements may be empty.
 * The blanks after a tag belong to its group: two runs of blanks side by side would take quadratic time.
 */
const ELEMENT = /[ \t]*(?:(W\/)?"([!#-~\x80-\xff]*)"[ \t]*)?(,|$)/y
/** SHA-256 in base64 for URLs. */
const OURS = /^[A-Za-z0-9_-]{43}$/

interface Tag {
  readonly weak: boolean
  readonly content: string
}

/** The strong entity tag of a document: other bytes, another tag. */
export function entityTag(document: string): string {
  return `"${hash('sha256', document, 'base64url')}"`
}

/** The answer that is this document with its tag; without the document, 304, when the client has it already. */
export function taggedReply({ headers }: Pick<Context, 'headers'>, document: string, tag: string): Reply {
  return isKnown(headers, tag)
    ? { status: 304, headers: { ETag: tag } }
    : { status: 200, headers: { ETag: tag }, text: document }
}

/** Whether the client says, by `If-None-Match`, that it has what this tag is of. */
export function isKnown(headers: Headers, tag: string): boolean {
  const known = headers['if-none-match']
  const tags = known === undefined ? undefined : readTags(String(known))
  return tags === 'any' || tags?.some(({ content }) => `"${content}"` === tag) === true
}

/**
 * What a change is conditional on; undefined when on nothing, which `required` refuses.
 * @throws Problem `malformed_request` for headers that hold no tags, `precondition_required`
 */
export function readPreconditions(headers: Headers, required: boolean): readonly Precondition[] | undefined {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && required) {
    const detail =
      'a change here says which version of the record it is meant for, by If-Match with the ETag of an answer'
    throw new Problem('precondition_required', detail)
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
    throw new Problem(
      'malformed_request',
      `${name} is neither \`*\` nor a list of entity tags, each between double quotes`,
    )
  }
  // If-Match takes a weak tag for none (RFC 9110, 13.1.1); a tag that is not ours is that of no record.
  const usable = tags.filter(({ weak, content }) => !(wanted && weak) && OURS.test(content))
  return { tags: usable.map(({ content }) => Buffer.from(content, 'base64url').toString('hex')), wanted }
}

/** undefined for what is no list of tags. */
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
