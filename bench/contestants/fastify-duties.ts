import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { begin, type Exchange, note, SECURITY_HEADERS, tagOf } from './duties.js'
import { pageHeaders, readPage } from './floor-lists.js'

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange | undefined
  }
}

/** Makes a Fastify server send the same headers and write the same log entries as ours. */
export function addDuties(app: FastifyInstance): void {
  app.decorateRequest('exchange', undefined)
  app.addHook('onRequest', (request, reply, next) => {
    const exchange = begin(request.raw, reply.raw)
    exchange.route = request.routeOptions.url?.endsWith(':id') ? 'snippet-detail' : 'snippet-list'
    request.exchange = exchange
    next()
  })
  app.addHook('onSend', (request, reply, payload: unknown, next) => {
    setHeaders(reply, SECURITY_HEADERS)
    reply.header('X-Request-Id', request.exchange?.requestId ?? '')
    if (typeof payload === 'string' && reply.statusCode < 300) describe(request, reply, payload)
    next()
  })
  app.addHook('onResponse', ({ exchange }, _reply, next) => {
    if (exchange) note(exchange)
    next()
  })
}

/** Adds the entity tag of a record, or the links of a page. */
function describe({ url }: FastifyRequest, reply: FastifyReply, payload: string): void {
  if (!payload.startsWith('[')) {
    reply.header('ETag', tagOf(payload))
    return
  }
  const mark = url.indexOf('?')
  const page = readPage(mark === -1 ? '' : url.slice(mark + 1))
  const total = Number(reply.getHeader('X-Total-Count'))
  setHeaders(reply, pageHeaders(page, total, page.page * page.size < total))
}

function setHeaders(reply: FastifyReply, list: readonly string[]): void {
  for (let index = 0; index < list.length; index += 2) reply.header(list[index] ?? '', list[index + 1])
}
