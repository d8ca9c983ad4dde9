import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withClient } from '../../bench/cluster.js'
import { runCli } from '../../test/support/cli.js'
import { type Answered, type Client, createClient } from '../client.js'
import { type Arena, atMost, format, trial } from '../trial.js'

interface Amount {
  /** Probes of each kind whose times are compared. */
  readonly timings: number
}

type Account = Readonly<Record<string, unknown>>

const SECRET = 'torture-canary-7f3a'
const MISS = 'torture-canary-0000'

const CONFIGURATION = `version: 1
models:
  account:
    table: accounts
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 100 }
      token: { type: string, max: 100, private: true, nullable: true }
      pin: { type: string, max: 100, write_only: true, nullable: true }
      made: { type: timestamp, auto: on_create }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      account: { type: belongs_to, model: account }
      text: { type: string, max: 100 }
resources:
  account: { model: account, path: /accounts/, filterable: [name], orderable: [name] }
  note: { model: note, path: /notes/, filterable: [text], orderable: [text] }
`

/** Spellings of a filter or an order that other products have understood. */
const PARAMETERS = (field: string, value: string): readonly string[] => [
  `${field}=${value}`,
  `filter[${field}]=${value}`,
  `filters[${field}][$startsWith]=${value}`,
  `where[${field}]=${value}`,
  `where={"${field}":"${value}"}`,
  `${field}__startswith=${value}`,
  `${field}__exact=${value}`,
  `${field}[]=${value}`,
  `${field}.eq=${value}`,
  `t1.${field}=${value}`,
  `search=${value}`,
  `q=${value}`,
  `fields=${field}`,
  `select=${field}`,
  `include=${field}`,
  `lookup[${field}]=${value}`,
  `ordering=${field}`,
  `ordering=-${field}`,
  `ordering=account.${field}`,
  `sort=${field}`,
  `groupBy=${field}`,
  `aggregate[min]=${field}`,
  `account__${field}=${value}`,
  `account.${field}=${value}`,
  `name=x&${field}=${value}`,
]

const HIDDEN = ['token', 'pin'] as const
const ACCOUNTS = 20
/** What clients may not write: a private field, the key, and server-set fields. */
const ATTEMPTS: readonly Account[] = [{ token: 'mine' }, { id: 777_777 }, { made: '1970-01-01T00:00:00Z' }]
const LISTS = ['/api/accounts/', '/api/notes/']

/** Nothing may reveal a private column: no response, filter, order or timing. */
export const oracles = trial<Amount>({
  id: 'T17',
  title: 'no parameter, body, error or response time reveals a private field',
  stores: ['postgres', 'embedded'],
  alone: true,
  tiers: { commit: { timings: 150 }, nightly: { timings: 1_000 }, release: { timings: 3_000 } },
  run: async (arena, { timings }) => {
    const { client, stopAndDump } = await setUp(arena)
    const seen: Answered[] = []
    const ask = async (path: string, method = 'GET', body?: unknown) => {
      const answer = await client.ask({ path, method, ...(body !== undefined && { body }) })
      seen.push(answer)
      return answer
    }
    let differences = 0
    let probes = 0
    for (const list of LISTS) {
      for (const field of HIDDEN) {
        for (const [at, match] of PARAMETERS(field, SECRET).entries()) {
          const miss = PARAMETERS(field, MISS)[at] ?? ''
          const [one, other] = [await ask(`${list}?${encodeURI(match)}`), await ask(`${list}?${encodeURI(miss)}`)]
          probes += 1
          if (one.status === other.status && shape(one) === shape(other)) continue
          differences += 1
          arena.say(`${list}?${match}: ${one.status} ${one.body}, ${other.status} ${other.body}`)
        }
      }
    }
    const shown = await writeHidden(ask)
    const leaks = seen.filter(({ body, headers }) => `${body}${JSON.stringify(headers)}`.includes(SECRET)).length
    const apart = await timeApart(client, timings)
    const stored = countWritten(await stopAndDump())
    return [
      atMost(differences, 0, `${differences} of ${format(probes)} pairs of probes distinguish a hit from a miss`),
      atMost(shown, 0, `${shown} server-set fields could be written, according to responses`),
      atMost(stored, 0, `${stored} according to the table`),
      atMost(leaks, 0, `${leaks} of ${format(seen.length)} responses contain a private value`),
      atMost(apart, arena.tier === 'commit' ? 50 : 5, `times of a hit and a miss differ by ${format(apart)} %`, ' %'),
    ]
  },
})

/** A service with accounts and a note, a client of it, and the end: every account as the table has it. */
async function setUp(arena: Arena): Promise<{ client: Client; stopAndDump: () => Promise<readonly Account[]> }> {
  const folder = join(arena.folder, 'oracles')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'resources.yaml'), CONFIGURATION)
  const { code, stderr } = await runCli(['migrate', 'plan', '--write', 'first'], { cwd: folder })
  if (code !== 0) throw new Error(stderr)
  const url = arena.store === 'postgres' ? await arena.database() : undefined
  const served = await arena.serve({ folder, ...(url !== undefined && { url }) })
  const client = createClient(served.port, 1)
  arena.later(() => client.close())
  for (let at = 0; at < ACCOUNTS; at++) {
    const { status, body } = await client.ask({
      method: 'POST',
      path: '/api/accounts/',
      body: { name: `name ${at}`, pin: SECRET },
    })
    if (status !== 201) throw new Error(`an account could not be made: ${status} ${body}`)
  }
  if (url !== undefined)
    await withClient(url, (connection) => connection.query('update accounts set token = $1', [SECRET]))
  await client.ask({ method: 'POST', path: '/api/notes/', body: { account: 1, text: 'x' } })
  const stopAndDump = async () => {
    await served.stop()
    const dump = await runCli(['dump', 'account'], { cwd: folder, env: url === undefined ? {} : { DATABASE_URL: url } })
    if (dump.code !== 0) throw new Error(dump.stderr)
    return dump.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Account)
  }
  return { client, stopAndDump }
}

/** A response without the parts that always differ or repeat the request. */
function shape({ body }: Answered): string {
  return body
    .replaceAll(/"request_id":"[^"]*"/g, '')
    .replaceAll(SECRET, '?')
    .replaceAll(MISS, '?')
}

/** How many fields that belong to the server took a value of a client. */
async function writeHidden(ask: (path: string, method?: string, body?: unknown) => Promise<Answered>): Promise<number> {
  const base = { name: 'mass' }
  let written = 0
  for (const more of ATTEMPTS) {
    const attempts = [await ask('/api/accounts/', 'POST', { ...base, ...more })]
    for (const method of ['PUT', 'PATCH'])
      attempts.push(await ask('/api/accounts/1/', method, { ...base, pin: null, ...more }))
    const shown = attempts.map(({ body }) => body).join()
    written += Number(
      /"id":777777|1970-01-01|"token"/.test(shown.replaceAll(/"(?:detail|message|errors)":[^\]]*/g, '')),
    )
  }
  return written
}

/** How many fields contain what `writeHidden` sent, although responses may not show it. */
function countWritten(accounts: readonly Account[]): number {
  if (accounts.length < ACCOUNTS) throw new Error(`the table holds ${accounts.length} accounts of at least ${ACCOUNTS}`)
  return ATTEMPTS.filter((attempt) =>
    accounts.some((account) => Object.entries(attempt).every(([name, value]) => account[name] === value)),
  ).length
}

/** The difference between the median times of two rejections, in percent. */
async function timeApart(client: Client, timings: number): Promise<number> {
  const middle = async (value: string) => (await client.ask({ path: `/api/accounts/?token=${value}` })).time
  const times: { hit: number[]; miss: number[] } = { hit: [], miss: [] }
  for (let at = 0; at < timings; at++) {
    times.hit.push(await middle(SECRET))
    times.miss.push(await middle(MISS))
  }
  const half = (list: number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0
  const [hit, miss] = [half(times.hit), half(times.miss)]
  return (100 * Math.abs(hit - miss)) / miss
}
