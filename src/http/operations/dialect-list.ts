import type { DocumentStore } from '../../db/records/store.js'
import type { Dialect, Frame, Listed } from '../../dialects/dialect.js'
import { fail } from '../../foundation/fail.js'
import type { ListRequest } from '../../resource/lists/list.js'
import type { ListPage } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { type Links, type Listing, linksOf, listHeaders } from '../list-links.js'
import type { Reply } from '../route.js'
import { list, type ListInput } from './list.js'
import type { Operation } from './operation.js'

type Page = ListPage<Uint8Array>

/** Lists a resource in a dialect: a page in one response, a longer list in pieces. */
export function dialectList(resource: Resource, dialect: Dialect): Operation<ListInput, Page> {
  return {
    ...list(resource),
    reply(page, context, { request }) {
      const asking = { resource, context, dialect, request, page }
      const { limit } = request.plan
      const isPart = page.more && limit !== undefined && limit < wantedOf(request)
      return isPart ? inPieces(asking, context.documents(resource)) : atOnce(asking)
    },
  }
}

interface Asking extends Listing {
  readonly dialect: Dialect
  readonly page: Page
}

function wantedOf({ cut }: ListRequest): number {
  return cut?.window.size ?? Number.POSITIVE_INFINITY
}

function atOnce(asking: Asking): Reply {
  const { page } = asking
  const links = linksOf(asking, page)
  const { headers, before = '', after = '' } = frameOf(asking, { links, length: page.length, streamed: false })
  return {
    status: 200,
    headers: { ...listHeaders(links, page), ...headers },
    text: before === '' ? page.items : Buffer.concat([Buffer.from(before), page.items, Buffer.from(after)]),
  }
}

interface Extent {
  readonly links: Links
  readonly length: number
  readonly streamed: boolean
}

function frameOf({ resource, dialect, request, page }: Asking, { links, length, streamed }: Extent): Frame {
  const { window = { offset: 0n, size: undefined }, paged = false } = request.cut ?? {}
  const listed: Listed = {
    unit: resource.spec.path.split('/').at(-2) ?? '',
    window: { ...window, size: window.size ?? Math.max(length, 1) },
    paged,
    streamed,
    length,
    total: page.total?.rows ?? length,
    estimated: page.total?.estimated ?? false,
    next: links.get('next'),
    previous: links.get('prev'),
  }
  return dialect.frame(listed)
}

/** Streams a list that is longer than a page: the first page is known, and the rest is read as fast as the client accepts it. */
function inPieces(asking: Asking, documents: DocumentStore<string>): Reply {
  const { request, page } = asking
  const length = expected(request, page)
  const links = reachable(asking, linksOf(asking, { ...page, first: undefined, last: undefined }))
  const { headers, before = '' } = frameOf(asking, { links, length, streamed: true })
  return {
    status: 200,
    headers: { ...listHeaders(links, page), ...headers },
    stream: pieces(asking, documents, before),
  }
}

/** The expected number of records, as far as it is known before they are read. */
function expected(request: ListRequest, { length, total }: Page): number {
  const left = (total?.rows ?? 0) - Number(request.cut?.window.offset ?? 0n)
  return Math.max(length, Math.min(wantedOf(request), left))
}

/** Removes the link to the next page if there is none, or if it needs a cursor that is not known yet. */
function reachable({ resource, request, page }: Asking, links: Links): Links {
  const { offset = 0n } = request.cut?.window ?? {}
  const end = Number(offset) + wantedOf(request)
  const hasNext = end < (page.total?.rows ?? 0) && end <= resource.spec.pagination.maxOffset
  return hasNext ? links : new Map([...links].filter(([rel]) => rel !== 'next'))
}

async function* pieces(asking: Asking, documents: DocumentStore<string>, before: string): AsyncGenerator<string> {
  const { request } = asking
  const { plan } = request
  const wanted = wantedOf(request)
  const size = plan.limit ?? wanted
  let { page } = asking
  let length = page.length
  yield `${before}[${within(page)}`
  while (page.more && length < wanted) {
    const after = page.last ?? fail('a page that others follow has no last record')
    const limit = Math.min(size, wanted - length)
    page = await documents.list({ ...plan, start: { after }, limit, total: 'none' })
    if (page.length > 0) yield `,${within(page)}`
    length += page.length
  }
  const links = linksOf(asking, { ...page, first: undefined, total: asking.page.total })
  yield `]${frameOf(asking, { links, length, streamed: true }).after ?? ''}`
}

/** The records of a page without the brackets of the array. */
function within({ items }: Page): string {
  return Buffer.from(items.buffer, items.byteOffset + 1, items.byteLength - 2).toString()
}
