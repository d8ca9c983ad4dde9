import { codeUnderWay, type Exchange } from './exchange.js'

/** The status of the response; undefined if none was sent. */
export function statusOf({ response }: Exchange): number | undefined {
  return response.headersSent ? response.statusCode : undefined
}

/** The maximum length of a logged path. */
const MAX_SHOWN_PATH = 1_000

/** The path for the log, without the query. It needs no escapes, because Node accepts only printable ASCII in a target. */
function shownPath(path: string): string {
  return path.length > MAX_SHOWN_PATH ? `${path.slice(0, MAX_SHOWN_PATH)}...` : path
}

/** The log entry of a request; `ended` is a `performance.now()`. */
export function describe(exchange: Exchange, ended: number) {
  const { request, requestId, route, started } = exchange
  return {
    event: 'request',
    request_id: requestId,
    method: request.method,
    route: route?.name,
    template: route?.path,
    path: shownPath(exchange.path),
    status: statusOf(exchange),
    ms: Math.round((ended - started) * 1000) / 1000,
    aborted: isCutOff(exchange) ? true : undefined,
    trace_id: exchange.trace?.traceId,
    subject: exchange.identity?.subject,
    signed_in_by: exchange.identity?.method,
    grants: exchange.grants,
    denied: exchange.denied,
  }
}

/** Whether the client did not get all of the response. Node calls a response finished also if its connection was destroyed before it had been sent. */
function isCutOff({ response, request: { socket } }: Exchange): boolean {
  return !response.writableFinished || (socket.destroyed && !socket.writableFinished)
}

/** The log entry of a handler that goes on after its response, while the body keeps its room; undefined if it does not. */
export function describeHeldRoom(exchange: Exchange) {
  const { body, isHandling, requestId, route } = exchange
  const bytes = isHandling ? (body?.held() ?? 0) : 0
  if (bytes === 0) return undefined
  return {
    event: 'body_room_held',
    request_id: requestId,
    route: route?.name,
    bytes,
    ...codeUnderWay(exchange),
    msg: `the handler of ${route?.name} has not ended, and its body keeps ${bytes} bytes of the room for bodies until then`,
  }
}
