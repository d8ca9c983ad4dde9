import type { Answered, Client } from './client.js'

/** Where records are written: the generated endpoint, whose answers are the records. */
export const RECORDS = '/api/snippets-viewset/'

/** What clients know of the records that they tried to make; titles are used once. */
export interface Ledger {
  /** Answered with 201. */
  readonly acknowledged: Map<string, string>
  /** Answered with something that says that nothing was stored. */
  readonly refused: Set<string>
  /** Neither: the answer was cut or says that the outcome is not known. */
  readonly unknown: Set<string>
  /** Answers that nobody should get, by what was wrong. */
  readonly wrong: string[]
}

export function openLedger(): Ledger {
  return { acknowledged: new Map(), refused: new Set(), unknown: new Set(), wrong: [] }
}

/** What is written: short, and different each time. */
export function recordOf(title: string): { readonly title: string; readonly code: string; readonly language: string } {
  return { title, code: `print("${title}")`, language: 'python' }
}

/** The id of a record as it stands in its text. */
export function idOf(text: string): string {
  return /"id":(\d+)/.exec(text)?.[1] ?? ''
}

/** Creates one record after the other until it is told to stop. */
export async function write(client: Client, ledger: Ledger, titles: () => string, going: () => boolean): Promise<void> {
  while (going()) {
    const title = titles()
    const answer = await client.ask({ method: 'POST', path: RECORDS, body: recordOf(title) })
    note(ledger, title, answer)
    // A server that is gone refuses at once; asking without a pause would only burn the processor.
    if (answer.status !== 201) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Enters an answer to the creation of a record. */
export function note(ledger: Ledger, title: string, answer: Answered): void {
  const { status, headers, body, failure, unsent } = answer
  if (status === 201) ledger.acknowledged.set(title, idOf(body))
  else if (unsent || (status >= 400 && status < 500)) ledger.refused.add(title)
  else ledger.unknown.add(title)
  if (status === 201 || status === 0) return
  if (status !== 503) ledger.wrong.push(`${status} ${body.slice(0, 200)} ${failure ?? ''}`)
  else if (headers['retry-after'] === undefined) ledger.wrong.push('503 without Retry-After')
}

/** What a table that was found says about the ledger. */
export interface Verdict {
  readonly lost: readonly string[]
  readonly ghosts: readonly string[]
  readonly twice: readonly string[]
}

/** Holds the titles of all records against what clients were told. */
export function judge(ledger: Ledger, titles: readonly string[]): Verdict {
  const found = new Set(titles)
  const seen = new Set<string>()
  const twice = titles.filter((title) => seen.size === seen.add(title).size)
  return {
    lost: [...ledger.acknowledged.keys()].filter((title) => !found.has(title)),
    ghosts: [...ledger.refused].filter((title) => found.has(title)),
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
