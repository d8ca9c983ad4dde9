import { isIPv6 } from 'node:net'
import type { App, Database } from '../src/index.js'
import type { CliContext } from './context.js'
import type { Log } from './log.js'
import { alignColumns, count } from './output.js'

interface Listening {
  readonly url: string
  readonly app: App
  readonly database: Database
  readonly log: Log
  /** Whether people get a banner on stderr. */
  readonly banner: boolean
}

/** Says where the server listens, once it does: a banner for people, one line of the log for machines. */
export function announce(context: CliContext, { url, app, database, log, banner }: Listening): void {
  const amounts = { resources: app.resources.length, routes: [...app.routes].length }
  if (!banner || !context.out.terminal) {
    const { version } = context
    log.info({ event: 'listening', url, ...amounts, version, msg: `listening on ${url}` })
  }
  if (!banner) return
  const { colors, line } = context.err
  const first = [...app.routes].find((route) => route.method === 'GET' && !route.path.includes('{'))
  const rows = [
    ['API', colors.cyan(url)],
    ['Database', database.description],
    ['Serves', `${count(amounts.resources, 'resource')}, ${count(amounts.routes, 'route')}   (snippetctl routes)`],
    ['Auth', 'none: every route is public'],
    ...(first === undefined ? [] : [['next', `curl -s ${new URL(first.path, url).href}`]]),
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
