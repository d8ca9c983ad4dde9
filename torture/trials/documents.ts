import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../bench/contestants.js'
import { runCli } from '../../test/support/cli.js'
import { type Operation, readDocument } from '../fuzz/document.js'
import { createLedger, type Tables } from '../fuzz/ledger.js'
import { type Asked, createRequests, format as formatRequest } from '../fuzz/requests.js'
import type { Schema } from '../fuzz/schemas.js'
import type { Served } from '../serve.js'
import { type Arena, atLeast, atMost, format, trial } from '../trial.js'

interface Amount {
  /** To each of the two services. */
  readonly requests: number
}

const SNIPPETS: Tables = {
  paths: { snippets: 'snippet', 'snippets-viewset': 'snippet' },
  references: {},
  takesAlong: {},
  unique: [],
}

const MARKET: Tables = {
  paths: { sellers: 'seller', products: 'product', stalls: 'product', orders: 'order' },
  references: { seller: 'seller', product: 'product', substitute: 'product' },
  takesAlong: { seller: ['product', 'order'], product: ['order'] },
  unique: ['code'],
}

/** As many records as a service keeps; more are deleted sooner than made. */
const MANY_RECORDS = 30
/** How many variants of one request are sent before another operation has its turn. */
const IN_A_ROW = 8
const MAX_SAID = 20

/** Requests generated from the served documents, and systematically invalid variants of each. */
export const documents = trial<Amount>({
  id: 'T25',
  title:
    'the service accepts what its OpenAPI document allows, rejects everything else, and sends only documented responses',
  stores: ['embedded', 'postgres'],
  tiers: {
    commit: { requests: 600 },
    nightly: { requests: 25_000 },
    release: { requests: 100_000 },
  },
  run: async (arena, { requests }) => {
    const talk = createTalk()
    await converse({ arena, served: await arena.serve(), tables: SNIPPETS, requests, talk })
    await converse({ arena, served: await serveMarket(arena), tables: MARKET, requests, talk })
    const { findings, counts, rules } = talk
    for (const { kind, text } of findings.slice(0, MAX_SAID)) arena.say(`${kind}: ${text}`)
    const of = (kind: Finding['kind']) => findings.filter((finding) => finding.kind === kind).length
    const share = (100 * counts.done) / counts.valid
    return [
      atMost(of('answer'), 0, `${of('answer')} responses contradict the documents`),
      atMost(of('rejected'), 0, `${of('rejected')} of ${format(counts.valid)} valid requests rejected`),
      atMost(
        of('taken'),
        0,
        `${of('taken')} of ${format(counts.invalid)} invalid requests accepted, from ${format(rules.size)} rules`,
      ),
      atLeast(share, 30, `${format(share)} % of the valid requests succeeded`, ' %'),
    ]
  },
})

async function serveMarket(arena: Arena): Promise<Served> {
  const folder = join(arena.folder, 'market')
  mkdirSync(folder, { recursive: true })
  cpSync(join(HOME, 'test/applications/market.yaml'), join(folder, 'resources.yaml'))
  cpSync(join(HOME, 'test/applications/market.mjs'), join(folder, 'market.mjs'))
  const { code, stderr } = await runCli(['migrate', 'plan', '--write', 'first'], { cwd: folder })
  if (code !== 0) throw new Error(stderr)
  const url = arena.store === 'postgres' ? await arena.database() : undefined
  return arena.serve({ folder, ...(url !== undefined && { url }) })
}

interface Finding {
  /** An undescribed response; a rejected valid request; an accepted invalid one. */
  readonly kind: 'answer' | 'rejected' | 'taken'
  readonly text: string
}

/** The results of all requests. */
function createTalk() {
  return {
    findings: [] as Finding[],
    counts: { valid: 0, done: 0, invalid: 0 },
    /** The rules of operations that were broken, each once. */
    rules: new Set<string>(),
  }
}

interface Conversation {
  readonly arena: Arena
  readonly served: Served
  readonly tables: Tables
  readonly requests: number
  readonly talk: ReturnType<typeof createTalk>
}

async function converse({ arena: { random }, served, tables, requests, talk }: Conversation): Promise<void> {
  const base = `http://127.0.0.1:${served.port}`
  const described = readDocument((await (await fetch(`${base}/openapi.json`)).json()) as Schema)
  const ledger = createLedger(tables)
  const make = createRequests(described, random, ledger)
  const turns = new Map<Operation, number>()
  for (let sent = 0; sent < requests; ) {
    const operation = random.pick(described.operations)
    const mayDelete = operation.method !== 'DELETE' || ledger.count(operation.path) > MANY_RECORDS || random.chance(0.3)
    const wanted = mayDelete && random.chance(0.7) ? [make.valid(operation)] : nextOf(operation)
    for (const asked of wanted) await ask(asked)
    sent += wanted.length
  }

  /** The variants of an operation in turn, a few at a time, each time of another valid request. */
  function nextOf(operation: Operation): readonly Asked[] {
    const turn = turns.get(operation) ?? 0
    turns.set(operation, turn + IN_A_ROW)
    return make.variants(operation, turn, IN_A_ROW)
  }

  async function ask(asked: Asked): Promise<void> {
    const { operation, rule = 'nothing', isValid } = asked
    const { url, init } = formatRequest(asked)
    const response = await fetch(base + url, init)
    const told = { status: response.status, headers: response.headers, text: await response.text() }
    const isDone = told.status < 400
    const find = (kind: Finding['kind'], why: string) =>
      talk.findings.push({
        kind,
        text: `${told.status} to ${init.method} ${url} ${init.body?.slice(0, 300) ?? ''}: ${why}`,
      })
    for (const fault of described.faultsOf(operation, told)) find('answer', fault)
    if (told.status >= 500) find('answer', told.text)
    if (isValid) {
      talk.counts.valid += 1
      talk.counts.done += Number(isDone)
      if (!isDone && !ledger.excuses(asked, told))
        find('rejected', `${rule} is at its limit; ${told.text.slice(0, 300)}`)
    } else {
      talk.counts.invalid += 1
      // A missing or conflicting record may be the only reason for the rejection.
      if (![404, 409, 412].includes(told.status)) talk.rules.add(`${operation.method} ${operation.path} ${rule}`)
      if (isDone) find('taken', `it breaks ${rule}`)
    }
    if (isDone) ledger.learn(asked, told)
  }
}
