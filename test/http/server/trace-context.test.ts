import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { BOOKS, makeProject, type Project, type Serving, startServe } from '../../support/cli.js'

const PLUGIN = `
export default (app) => {
  app.route('GET', '/trace/', 'trace', (context) => ({ status: 200, body: { trace: context.trace ?? null } }))
  app.route('GET', '/fail/', 'fail', () => { throw new Error('not today') })
}
`

/** Sets OpenTelemetry up as a project would, but for where its spans go. */
const TRACING = `
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

const exporter = {
  export(spans, done) {
    for (const { name, kind, attributes, status, parentSpanContext } of spans) {
      console.log(JSON.stringify({ event: 'span', name, kind, attributes, status, parent: parentSpanContext?.spanId ?? null }))
    }
    for (const span of spans) console.log(JSON.stringify({ event: 'ids', name: span.name, ...span.spanContext() }))
    done({ code: 0 })
  },
  shutdown: async () => {},
}
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))

export default (app) => {
  app.route('GET', '/inner/', 'inner', async (context) => {
    await null
    trace.getTracer('own').startSpan('inner work').end()
    return { status: 200, body: { trace: context.trace } }
  })
}
`

const config = (...plugins: readonly string[]) =>
  `${BOOKS}plugins:\n${plugins.map((plugin) => `  - ./${plugin}\n`).join('')}`

let project: Project
let serving: Serving | undefined

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': config('plugin.mjs'),
    'traced.yaml': config('plugin.mjs', 'tracing.mjs'),
    'plugin.mjs': PLUGIN,
    'tracing.mjs': TRACING,
  })
  await symlink(resolve('node_modules'), join(project.folder, 'node_modules'))
})

afterEach(async () => {
  await serving?.stop('SIGKILL')
  serving = undefined
})

afterAll(() => project.remove())

type Entry = Readonly<Record<string, unknown>>

// Nothing listens on port 1, so that no database has to be started.
async function serve(file: string): Promise<Serving> {
  serving = await startServe(['--config', file], {
    cwd: project.folder,
    env: { DATABASE_URL: 'postgres://app@127.0.0.1:1/app' },
  })
  return serving
}

/** All that the server has said, once it has ended. */
async function entriesOf({ stop }: Serving): Promise<readonly Entry[]> {
  const { stdout } = await stop()
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const named = (sampled: boolean) => ({ traceId: TRACE, parentId: PARENT, sampled })

describe('traceparent', () => {
  test('that is valid reaches handlers and the log, and is ignored otherwise', async () => {
    const cases: readonly (readonly [string | undefined, unknown])[] = [
      [undefined, null],
      [`00-${TRACE}-${PARENT}-01`, named(true)],
      [`00-${TRACE}-${PARENT}-00`, named(false)],
      [`00-${TRACE}-${PARENT}-03`, named(true)],
      [`cc-${TRACE}-${PARENT}-01-what-will-be`, named(true)],
      [`00-${TRACE}-${PARENT}-01-more`, null],
      [`ff-${TRACE}-${PARENT}-01`, null],
      [`00-${TRACE.toUpperCase()}-${PARENT}-01`, null],
      [`00-${'0'.repeat(32)}-${PARENT}-01`, null],
      [`00-${TRACE}-${'0'.repeat(16)}-01`, null],
      [`00-${TRACE}-${PARENT}`, null],
      [`00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`, null],
      ['', null],
      ['x'.repeat(5_000), null],
    ]
    const server = await serve('resources.yaml')
    for (const [index, [traceparent, trace]] of cases.entries()) {
      const headers = { 'x-request-id': `request-${index}`, ...(traceparent !== undefined && { traceparent }) }
      const response = await fetch(`${server.url}/api/trace/`, { headers })
      expect([traceparent, await response.json()]).toEqual([traceparent, { trace }])
    }
    const requests = (await entriesOf(server)).filter(({ event }) => event === 'request')
    expect(requests.map((entry) => entry['trace_id'])).toEqual(
      cases.map(([, trace]) => (trace === null ? undefined : TRACE)),
    )
  })

  test('is in the log of a failure as well', async () => {
    const server = await serve('resources.yaml')
    await fetch(`${server.url}/api/fail/`, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
    expect(await server.logged('failure')).toMatchObject({ route: 'fail', trace_id: TRACE })
  })
})

describe('OpenTelemetry, set up by a plugin,', () => {
  test('gets a span for each request, between those of the client and the handlers', async () => {
    const server = await serve('traced.yaml')
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-request-id': 'order-4711' }
    const { trace } = (await (await fetch(`${server.url}/api/inner/`, { headers })).json()) as { trace: Entry }
    const entries = await entriesOf(server)
    const [inner, outer] = entries.filter(({ event }) => event === 'span')
    expect(outer).toEqual({
      event: 'span',
      name: 'GET /api/inner/',
      kind: 1,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/api/inner/',
        'http.response.status_code': 200,
        'snippetctl.route': 'inner',
        'snippetctl.request_id': 'order-4711',
      },
      status: { code: 0 },
      parent: PARENT,
    })
    expect(trace).toEqual({ traceId: TRACE, parentId: expect.stringMatching(/^[0-9a-f]{16}$/), sampled: true })
    expect(inner).toMatchObject({ name: 'inner work', parent: trace['parentId'] })
    expect(entries.find(({ event }) => event === 'request')).toMatchObject({ trace_id: TRACE })
  })

  test('begins a trace for a request without one, and marks failures', async () => {
    const server = await serve('traced.yaml')
    expect((await fetch(`${server.url}/api/fail/`)).status).toBe(500)
    const entries = await entriesOf(server)
    const span = entries.find(({ event }) => event === 'span')
    const ids = entries.find(({ event }) => event === 'ids')
    expect(span).toMatchObject({
      name: 'GET /api/fail/',
      parent: null,
      status: { code: 2 },
      attributes: { 'http.response.status_code': 500, 'error.type': '500' },
    })
    for (const event of ['failure', 'request']) {
      expect(entries.find((entry) => entry['event'] === event)).toMatchObject({ trace_id: ids?.['traceId'] })
    }
  })
})
