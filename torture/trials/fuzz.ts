import { Buffer } from 'node:buffer'
import type { RawAnswer } from '../answers.js'
import { createClient } from '../client.js'
import { sample, type Sample, toWire } from '../fuzz/grammar.js'
import { type Fields, predict } from '../fuzz/model.js'
import { findLeak } from '../leaks.js'
import { exchange, type Exchanged } from '../raw.js'
import type { Served } from '../serve.js'
import { type Arena, atMost, type Figure, format, trial } from '../trial.js'
import { idOf, readAll, RECORDS, recordOf } from '../writers.js'

interface Amount {
  readonly requests: number
}

const HANG = 2_000
const BATCH = 1_000
const MAX_ROWS = 200
/** Milliseconds for which a request whose connection is gone may still be under way. */
const STRAYS = 500
/** The number of earlier requests shown with a request. */
const TRAIL = 12

/** A request with a wrong response. */
interface Finding {
  readonly bytes: string
  readonly method: string
  readonly fault: string
}

interface Session {
  readonly arena: Arena
  readonly served: Served
  readonly rows: Map<string, Fields>
  readonly findings: Finding[]
  /** Whether the table may be another than the model has it, for a reason that is known. */
  unsure: boolean
  /** When the last request with an unknown outcome was sent. */
  strayed: number
  /** The latest requests and their responses, to help find the cause of a fault. */
  readonly trail: string[]
  readonly counts: { requests: number; hangs: number; leaks: number; errors: number; changes: number }
}

/** Requests from a grammar, and corrupted bytes of them, compared with a model that knows every response. */
export const fuzz = trial<Amount>({
  id: 'T2',
  title: 'generated requests get the responses that a model of 100 lines predicts',
  stores: ['postgres', 'embedded'],
  tiers: { commit: { requests: 5_000 }, nightly: { requests: 100_000 }, release: { requests: 2_000_000 } },
  run: async (arena, { requests }) => {
    return fuzzed(arena, await arena.serve(), arena.store === 'embedded' ? requests / 4 : requests)
  },
})

/** Sends generated requests to an empty service. */
export async function fuzzed(arena: Arena, served: Served, requests: number): Promise<readonly Figure[]> {
  const counts = { requests: 0, hangs: 0, leaks: 0, errors: 0, changes: 0 }
  const session: Session = {
    arena,
    served,
    rows: new Map(),
    findings: [],
    unsure: false,
    strayed: -Infinity,
    trail: [],
    counts,
  }
  for (const kept of arena.kept() as Finding[]) await replay(session, kept)
  await learn(session)
  for (let at = 0; at < requests; at++) {
    await (arena.random.chance(0.8) ? askOne(session) : spoilOne(session))
    if (session.rows.size > MAX_ROWS) await thinOut(session)
    if (at % BATCH === BATCH - 1) await inspect(session)
  }
  await inspect(session)
  return figures(session)
}

/** A complete request: its response is known in advance. */
async function askOne(session: Session): Promise<void> {
  const { arena, rows, served } = session
  const one = sample(arena.random, [...rows.keys()])
  const chunked = arena.random.chance(0.1)
  const bytes = toWire(one, chunked)
  const wanted = predict(one, rows, !chunked)
  const got = await exchange(served.port, bytes, { method: one.method, patience: arena.boundOf(HANG) })
  follow(session, one, bytes, got)
  const answer = got.answers.find(({ status }) => status >= 200)
  const unsound = faultOf(session, got)
  const other = answer?.status === wanted.status ? undefined : `${answer?.status} in place of ${wanted.status}`
  const fault = unsound ?? other
  if (unsound === undefined && other !== undefined && session.unsure) await learn(session)
  else if (fault !== undefined) await report(session, { bytes, method: one.method, fault })
  else if (answer && !settle(session, one, answer, wanted)) await learn(session)
}

/** Updates the model after a correct response and compares the record in it; returns whether the model still equals the table. */
function settle(session: Session, one: Sample, answer: RawAnswer, wanted: ReturnType<typeof predict>): boolean {
  const { rows } = session
  const id = one.id ?? idOf(answer.body)
  if (wanted.change?.kind === 'delete') rows.delete(id)
  else if (wanted.change) rows.set(id, wanted.change.fields)
  if (one.method === 'HEAD') return true
  if (wanted.lists !== undefined) return settleList(session, one, answer, wanted.lists)
  if (wanted.shows === undefined) return true
  const { snippet, ...own } = JSON.parse(answer.body) as Readonly<Record<string, unknown>>
  const shown = (snippet ?? own) as Fields
  const wrong = Object.entries(wanted.shows).filter(([name, value]) => shown[name] !== value)
  if (!session.unsure)
    for (const [name] of wrong)
      session.findings.push({ bytes: '', method: one.method, fault: `${name} of ${id} is not what was stored` })
  return wrong.length === 0
}

/** Compares a list with the model's: which records, in which order, with which values, and how many there are. */
function settleList(
  { rows, unsure, findings, arena }: Session,
  { method, path, query }: Sample,
  { body, headers }: RawAnswer,
  wanted: NonNullable<ReturnType<typeof predict>['lists']>,
): boolean {
  const parsed = JSON.parse(body) as { readonly snippets?: readonly Shown[] } | readonly Shown[]
  const records = 'snippets' in parsed ? (parsed.snippets ?? []) : (parsed as readonly Shown[])
  const total = headers['x-total-count'] ?? String(wanted.total)
  const isRight =
    total === String(wanted.total) &&
    records.length === wanted.ids.length &&
    records.every((record, at) => isShownAs(record, wanted.ids[at], rows))
  if (isRight) return true
  if (!unsure) {
    findings.push({ bytes: '', method, fault: `the list ${path}?${query.text} does not hold the records it should` })
    arena.say(
      `${path}?${query.text}: ${records.map(({ id }) => id).join()} of ${total}, not ${wanted.ids.join()} of ${wanted.total}`,
    )
  }
  return false
}

interface Shown {
  readonly id: number
  readonly [name: string]: unknown
}

function isShownAs(record: Shown, id: string | undefined, rows: ReadonlyMap<string, Fields>): boolean {
  const row = rows.get(id ?? '')
  return String(record.id) === id && Object.entries(row ?? {}).every(([name, value]) => record[name] === value)
}

/** Bytes that were a request: anything but an error of ours may come back, or nothing. */
async function spoilOne(session: Session): Promise<void> {
  const { arena, rows, served } = session
  const { random } = arena
  const one = sample(random, [...rows.keys()])
  const bytes = spoil(toWire(one, random.chance(0.2)), arena)
  const got = await exchange(served.port, bytes, { method: one.method, patience: arena.boundOf(HANG), endAfter: 3 })
  follow(session, one, bytes, got)
  const fault = faultOf(session, got, true)
  if (fault !== undefined) await report(session, { bytes, method: one.method, fault })
  if (one.method === 'GET') return
  if (got.answers.some(({ status }) => status >= 200 && status < 300)) await learn(session)
  // A connection that was reset may have lost a response, and the request may still be in progress.
  else if (got.answers.length === 0) {
    session.unsure = true
    session.strayed = performance.now()
  }
}

function follow({ trail }: Session, { method, path }: Sample, bytes: Buffer, { answers, time }: Exchanged): void {
  const statuses = answers.map(({ status }) => status).join()
  trail.push(`${method} ${path.slice(0, 60)} ${bytes.length} bytes: ${statuses || 'nothing'} in ${format(time)} ms`)
  if (trail.length > TRAIL) trail.shift()
}

function spoil(bytes: Buffer, { random }: Arena): Buffer {
  let spoilt = bytes
  for (let count = random.between(1, 3); count > 0; count--) {
    const at = random.between(0, Math.min(spoilt.length, 2_000) - 1)
    const size = random.between(1, 4)
    const [before, after] = [spoilt.subarray(0, at), spoilt.subarray(at)]
    spoilt = random.pick([
      () => Buffer.concat([before, random.bytes(size), after]),
      () => Buffer.concat([before, after.subarray(size)]),
      () => Buffer.concat([before, random.bytes(size), after.subarray(size)]),
      () => Buffer.concat([before, after, after]),
      () => before,
    ])()
    if (spoilt.length === 0) return Buffer.from('\r\n')
  }
  return spoilt
}

/** The faults that no response may have, whatever the request. */
function faultOf({ arena, counts }: Session, got: Exchanged, spoilt = false): string | undefined {
  counts.requests += 1
  const final = got.answers.filter(({ status }) => status >= 200)
  if (final.length === 0 && !got.closed) counts.hangs += 1
  if (final.length === 0) return got.closed && spoilt ? undefined : `no answer within ${arena.boundOf(HANG)} ms`
  if (final.length > 1 && !spoilt) return `${final.length} answers to one request`
  for (const answer of final) {
    const fault = unsound(answer)
    if (fault === undefined) continue
    if (fault.startsWith('leak')) counts.leaks += 1
    else counts.errors += 1
    return fault
  }
  return undefined
}

function unsound({ status, headers, body }: RawAnswer): string | undefined {
  if (status >= 500 && ![501, 505].includes(status)) return `status ${status}`
  const leak = findLeak(`${JSON.stringify(headers)}\n${status >= 400 ? body : ''}`)
  if (leak !== undefined) return `leak of ${leak}`
  if (headers['x-content-type-options'] !== 'nosniff') return 'no nosniff'
  if (headers['x-powered-by'] !== undefined || headers['server'] !== undefined) return 'a header that tells too much'
  if (body === '' || isPage(headers)) return undefined
  if (!/^application\/(problem\+)?json$/.test(headers['content-type'] ?? '')) return 'a body that is not JSON'
  return isJson(body) ? undefined : 'a body that is broken JSON'
}

/** A page for people, which runs no script but its own. */
function isPage(headers: RawAnswer['headers']): boolean {
  const policy = headers['content-security-policy'] ?? ''
  return (
    headers['content-type'] === 'text/html; charset=utf-8' && policy.includes("'self'") && !policy.includes('unsafe')
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function report(session: Session, finding: Omit<Finding, 'bytes'> & { readonly bytes: Buffer }): Promise<void> {
  const kept = { ...finding, bytes: finding.bytes.toString('latin1') }
  session.findings.push(kept)
  session.arena.say(`${finding.fault}: ${JSON.stringify(kept.bytes.slice(0, 300))}`)
  for (const line of session.trail) session.arena.say(`  ${line}`)
  if (session.findings.length <= 5) session.arena.keep(`${session.arena.seed}-${session.counts.requests}`, kept)
  await learn(session)
}

/** A case that was found before: the general rules for responses still hold. */
async function replay(session: Session, { bytes, method }: Finding): Promise<void> {
  const raw = Buffer.from(bytes, 'latin1')
  const fault = faultOf(
    session,
    await exchange(session.served.port, raw, { method, patience: session.arena.boundOf(HANG), endAfter: 3 }),
    true,
  )
  if (fault !== undefined) session.findings.push({ bytes, method, fault: `again: ${fault}` })
}

/** Makes the model equal to the table, after requests with unknown outcomes. */
async function learn(session: Session): Promise<void> {
  const { served, rows } = session
  const found = await readFields(served)
  session.unsure &&= performance.now() - session.strayed < STRAYS
  rows.clear()
  for (const [id, fields] of found) rows.set(id, fields)
}

async function readFields({ port }: Served): Promise<ReadonlyMap<string, Fields>> {
  const client = createClient(port, 1)
  const all = (await readAll(client)) as readonly { readonly id: number; readonly [name: string]: unknown }[]
  client.close()
  return new Map(all.map(({ id, title, code, language }) => [String(id), { title, code, language } as Fields]))
}

async function thinOut(session: Session): Promise<void> {
  const { arena, served, rows } = session
  const client = createClient(served.port, 4)
  const ids = [...rows.keys()].filter(() => arena.random.chance(0.5))
  await Promise.all(ids.map((id) => client.ask({ method: 'DELETE', path: `${RECORDS}${id}/` })))
  await client.ask({ method: 'POST', path: RECORDS, body: recordOf('after thinning') })
  client.close()
  await learn(session)
}

/** What must hold between requests: for the process, its prototype, its log and the table. */
async function inspect(session: Session): Promise<void> {
  const { served, rows, counts, findings } = session
  const fault = (text: string) => void findings.push({ bytes: '', method: '', fault: text })
  if (!served.alive()) throw new Error(`the process ended after ${counts.requests} requests`)
  const { polluted, descriptors } = await served.read()
  if (polluted.length > 0) fault(`Object.prototype has ${polluted.join()}`)
  if (descriptors > 200) fault(`${descriptors} descriptors are open`)
  if (session.unsure) return learn(session)
  const found = await readFields(served)
  for (const id of new Set([...found.keys(), ...rows.keys()])) {
    if (JSON.stringify(found.get(id)) === JSON.stringify(inOrder(rows.get(id)))) continue
    counts.changes += 1
    session.arena.say(`record ${id} is ${JSON.stringify(found.get(id))}, not ${JSON.stringify(rows.get(id))}`)
  }
}

function inOrder(fields: Fields | undefined): Fields | undefined {
  return fields && { title: fields['title'] ?? '', code: fields['code'] ?? '', language: fields['language'] ?? '' }
}

function figures({ arena, served, findings, counts }: Session): readonly Figure[] {
  for (const { fault } of findings.slice(0, 5)) arena.say(fault)
  for (const line of served.complaints) arena.say(line)
  return [
    atMost(findings.length, 0, `${findings.length} of ${format(counts.requests)} responses were not as predicted`),
    atMost(counts.errors, 0, `${counts.errors} malformed responses`),
    atMost(counts.leaks + served.complaints.length, 0, `${counts.leaks + served.complaints.length} leaks`),
    atMost(counts.hangs, 0, `${counts.hangs} hangs`),
    atMost(counts.changes, 0, `${counts.changes} records differ from the model`),
  ]
}
