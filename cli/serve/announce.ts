import { isIPv6 } from 'node:net'
import type { App } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import type { Log } from './log.js'
import { alignColumns, count } from '../output.js'
import type { Listening } from './parent.js'

interface Announcement {
  readonly listening: Listening
  /** The description of the database. */
  readonly database: string
  /** How many worker processes serve; undefined when this one does. */
  readonly workers?: number
  readonly log: Log
  /** Whether people get a banner on stderr. */
  readonly banner: boolean
}

/** What there is to say of an application that listens. */
export function describeListening(url: string, { resources, routes, pages }: App): Listening {
  const all = [...routes]
  const example = all.find(({ method, path }) => method === 'GET' && !path.includes('{'))?.path
  return { url, resources: resources.length, routes: all.length, example, explore: pages !== undefined }
}

/** Says where the server listens, once it does: a banner for people, one line of the log for machines. */
export function announce(context: CliContext, { listening, database, workers, log, banner }: Announcement): void {
  const { example, explore, ...facts } = listening
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
          ['Docs', `${colors.cyan(`${url}/docs/`)}   Swagger UI, where swagger-ui-dist is installed`],
        ]
      : []),
    ['Database', database],
    ['Serves', `${count(resources, 'resource')}, ${count(routes, 'route')}   (snippetctl routes)`],
    ...(workers === undefined ? [] : [['Workers', String(workers)]]),
    ['Auth', 'none: every route is public'],
    ...(example === undefined ? [] : [['next', `curl -s ${new URL(example, url).href}`]]),
  ]
  line()
  line(`  ${colors.bold('snippetctl')} ${context.version}`)
  line()
  for (const row of alignColumns(rows)) line(`  ${row}`)
  line()
}

/** There is no authentication yet, so an address that others can reach deserves a word. */
export function warnOfOpenHost(host: string, log: Log): void {
  if (isLoopback(host)) return
  log.warn({
    event: 'open_host',
    host,
    msg: `listening on ${host}: no authentication is set, whoever reaches it may read and write`,
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIPv6(host) ? host === '::1' : /^127(\.\d{1,3}){3}$/.test(host))
}
