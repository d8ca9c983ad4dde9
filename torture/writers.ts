import type { Answered, Client } from './client.js'

/** The path for writing records: the generated endpoint, which returns them. */
export const RECORDS = '/api/snippets-viewset/'

/** What clients know about the records that they tried to create; titles are unique. */
export interface Ledger {
  /** Answered with 201. */
  readonly acknowledged: Map<string, string>
  /** Answered with anything that says that nothing was stored. */
  readonly rejected: Set<string>
  /** Unknown: the response was cut, or says that the outcome is unknown. */
  readonly unknown: Set<string>
  /** Responses that must not occur, by fault. */
  readonly wrong: string[]
}

export function openLedger(): Ledger {
  return { acknowledged: new Map(), rejected: new Set(), unknown: new Set(), wrong: [] }
}

/** A record to write: short, and different each time. */
export function recordOf(title: string): { readonly title: string; readonly code: string; readonly language: string } {
  return { title, code: `print("${title}")`, language: 'python' }
}

/** The id of a record as it stands in its text. */
export function idOf(text: string): string {
  return /"id":(\d+)/.exec(text)?.[1] ?? ''
}

/** Creates records one after another until it is told to stop. */
export async function write(client: Client, ledger: Ledger, titles: () => string, going: () => boolean): Promise<void> {
  while (going()) {
    const title = titles()
    const answer = await client.ask({ method: 'POST', path: RECORDS, body: recordOf(title) })
    note(ledger, title, answer)
    // A stopped server rejects immediately; without a pause, retries would only use up the processor.
    if (answer.status !== 201) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What a client may conclude about a change from the response. */
export type Outcome = 'done' | 'not done' | 'unknown'

/** The outcome is unknown if the response says so, or if it is incomplete. */
export function outcomeOf({ status, body, unsent }: Answered): Outcome {
  if (status >= 200 && status < 300) return 'done'
  if (unsent) return 'not done'
  return status === 0 || body.includes('/problems/outcome-unknown') ? 'unknown' : 'not done'
}

/** Returns the fault of a response to a change, whatever its outcome; undefined if it keeps the promises. */
export function faultOf(answer: Answered): string | undefined {
  const { status, headers, body, failure } = answer
  const outcome = outcomeOf(answer)
  if (status === 0 || outcome === 'done') return undefined
  if (status !== 503 && status !== 504) return `${status} ${body.slice(0, 200)} ${failure ?? ''}`
  const retries = headers['retry-after'] !== undefined
  if (outcome === 'unknown') return retries ? 'an unknown outcome with Retry-After' : undefined
  return retries ? undefined : `${status} without Retry-After`
}

/** Records the response to a create. */
export function note(ledger: Ledger, title: string, answer: Answered): void {
  const outcome = outcomeOf(answer)
  if (outcome === 'done') ledger.acknowledged.set(title, idOf(answer.body))
  else if (outcome === 'not done') ledger.rejected.add(title)
  else ledger.unknown.add(title)
  const fault = faultOf(answer)
  if (fault !== undefined) ledger.wrong.push(fault)
}

/** The result of comparing the table with the ledger. */
export interface Verdict {
  readonly lost: readonly string[]
  readonly ghosts: readonly string[]
  readonly twice: readonly string[]
}

/** Compares the titles of all records with what clients were told. */
export function judge(ledger: Ledger, titles: readonly string[]): Verdict {
  const found = new Set(titles)
  const seen = new Set<string>()
  const twice = titles.filter((title) => seen.size === seen.add(title).size)
  return {
    lost: [...ledger.acknowledged.keys()].filter((title) => !found.has(title)),
    ghosts: [...ledger.rejected].filter((title) => found.has(title)),
    twice,
  }
}

/** The titles and ids of all records, by the endpoint that lists everything. */
export async function readAll(client: Client): Promise<readonly { readonly id: number; readonly title: string }[]> {
  const { status, body, failure } = await client.ask({ path: '/api/snippets/' })
  if (status !== 200) throw new Error(`the records could not be read: ${failure ?? status}`)
  return (JSON.parse(body) as { readonly snippets: readonly { readonly id: number; readonly title: string }[] })
    .snippets
}
