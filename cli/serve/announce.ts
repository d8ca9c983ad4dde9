import { isIPv6 } from 'node:net'
import { hasSwaggerUi } from '../../src/internal.js'
import type { Application, CliContext } from '../context.js'
import type { Log } from './log/log.js'
import { alignColumns, count } from '../output.js'
import type { Listening } from './workers/parent.js'

interface Announcement {
  readonly listening: Listening
  readonly database: string
  /** The number of worker processes; undefined if this process serves. */
  readonly workers?: number
  readonly log: Log
  /** Whether to print a banner on stderr. */
  readonly banner: boolean
}

/** Summarises a listening application for the banner and the log. */
export function describeListening(url: string, { app, spec }: Pick<Application, 'app' | 'spec'>): Listening {
  const { routes, pages, access } = app
  const all = [...routes]
  const example = all.find(({ method, path }) => method === 'GET' && !path.includes('{'))?.path
  return {
    url,
    resources: spec.resources.length,
    routes: all.length,
    example,
    explore: pages !== undefined,
    swaggerUi: hasSwaggerUi(spec.file),
    auth: access !== undefined,
  }
}

const DOCS = {
  installed: 'Swagger UI',
  missing: 'says how to install Swagger UI, which is not installed',
}

/** Reports where the server listens: in a banner if `banner` is set, and in the log unless the banner is on the same terminal. */
export function announce(context: CliContext, { listening, database, workers, log, banner }: Announcement): void {
  const { example, explore, swaggerUi, auth, ...facts } = listening
  const { url, resources, routes } = facts
  if (!banner || !context.out.terminal) {
    const { version } = context
    log.info({ event: 'listening', ...facts, ...(workers && { workers }), version, msg: `listening on ${url}` })
  }
  if (!banner) return
  const { colors, line } = context.err
  const rows = [
    ['API', colors.cyan(url)],
    ...(explore
      ? [
          ['Explore', `${colors.cyan(`${url}/`)}   the API in a browser`],
          ['Docs', `${colors.cyan(`${url}/docs/`)}   ${DOCS[swaggerUi ? 'installed' : 'missing']}`],
        ]
      : []),
    ['Database', database],
    ['Serves', `${count(resources, 'resource')}, ${count(routes, 'route')}   (snippetctl routes)`],
    ...(workers === undefined ? [] : [['Workers', String(workers)]]),
    ['Auth', auth ? 'requests without a grant are denied   (docs/access.md)' : 'none: every route is public'],
    ...(example === undefined ? [] : [['next', `curl -s ${new URL(example, url).href}`]]),
  ]
  line()
  line(`  ${colors.bold('snippetctl')} ${context.version}`)
  line()
  for (const row of alignColumns(rows)) line(`  ${row}`)
  line()
}

/** Warns about an address that other machines can reach if callers need no credentials. */
export function warnOfOpenHost(host: string, { auth }: Listening, log: Log): void {
  if (auth || isLoopback(host)) return
  log.warn({
    event: 'open_host',
    host,
    msg: `listening on ${host} without authentication: anyone who can reach it can read and write`,
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIPv6(host) ? host === '::1' : /^127(\.\d{1,3}){3}$/.test(host))
}
