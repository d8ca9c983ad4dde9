import { createRequire } from 'node:module'
import type * as OpenTelemetry from '@opentelemetry/api'
import type { Span, Spans } from '../http/server/spans.js'

/** The key under which OpenTelemetry's API 1.x registers itself, whichever copy was loaded. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/** Returns OpenTelemetry if the project has it and a plugin or a preloaded module has set it up. It is never loaded otherwise. */
export function findTracing(projectFile: string, version: string): Spans | undefined {
  if (!(REGISTRY in globalThis)) return undefined
  const require = createRequire(projectFile)
  try {
    return createSpans(require('@opentelemetry/api') as typeof OpenTelemetry, version)
  } catch {
    // It was set up by a copy that the project cannot resolve.
    return undefined
  }
}

type Api = typeof OpenTelemetry

function createSpans(api: Api, version: string): Spans {
  const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = api
  const tracer = trace.getTracer('snippetctl', version)
  return {
    begin({ headers }, route, requestId) {
      // An active span belongs to an instrumented server, which has read the headers already.
      const active = context.active()
      const isInside = trace.getSpan(active) !== undefined
      const parent = isInside ? active : propagation.extract(ROOT_CONTEXT, headers)
      const span = tracer.startSpan(
        `${route.method} ${route.path}`,
        {
          kind: isInside ? SpanKind.INTERNAL : SpanKind.SERVER,
          attributes: {
            'http.request.method': route.method,
            'http.route': route.path,
            'snippetctl.route': route.name,
            'snippetctl.request_id': requestId,
          },
        },
        parent,
      )
      return toSpan(api, span, trace.setSpan(parent, span))
    },
  }
}

function toSpan(api: Api, span: OpenTelemetry.Span, inside: OpenTelemetry.Context): Span {
  const { context, SpanStatusCode, TraceFlags } = api
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    trace: Object.freeze({
      traceId,
      parentId: spanId,
      sampled: (traceFlags & TraceFlags.SAMPLED) === TraceFlags.SAMPLED,
    }),
    run: (work) => context.with(inside, work),
    end: (status) => {
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (status === undefined || status >= 500) {
        span.setAttribute('error.type', String(status ?? 'aborted'))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}
