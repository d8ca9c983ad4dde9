import assert from 'node:assert/strict'
import type { Answer } from './market.js'

export interface Draft {
  readonly title: string
  readonly code: string
  readonly language: string
}

export interface Snippet extends Draft {
  readonly id: number
}

/** What each generated client of the shipped service is asked to do: the written routes, and the generated ones. */
export interface Snippets {
  createByHand(body: Draft): Promise<Answer<{ readonly message: string; readonly snippet: Snippet }>>
  listByHand(): Promise<Answer<{ readonly snippets: readonly (Snippet & { readonly highlighted: string })[] }>>
  destroyByHand(id: number): Promise<Answer<unknown>>
  create(body: Draft): Promise<Answer<Snippet & { readonly created_at: string }>>
  list(language: string): Promise<Answer<readonly Snippet[]>>
  replace(id: number, body: Draft): Promise<Answer<Snippet>>
}

/** Uses everything once; fails where an answer is another than the types promise. */
export async function use(snippets: Snippets): Promise<void> {
  const draft = { title: 'Greeting', code: 'print("hi")', language: 'python' }
  const byHand = await snippets.createByHand(draft)
  assert.deepEqual(
    [byHand.status, byHand.body?.message, byHand.body?.snippet.title],
    [201, 'Snippet created', 'Greeting'],
  )
  const made = await snippets.create({ ...draft, language: 'text' })
  assert.match(made.body?.created_at ?? '', /Z$/)
  assert.deepEqual(
    (await snippets.list('text')).body?.map(({ id }) => id),
    [made.body?.id],
  )
  const all = (await snippets.listByHand()).body?.snippets ?? []
  assert.deepEqual([all.length, all[0]?.highlighted.includes('hljs')], [2, true])
  assert.equal((await snippets.replace(made.body?.id ?? 0, { ...draft, title: 'Other' })).body?.title, 'Other')
  const rejected = await snippets.createByHand({ ...draft, title: '' })
  assert.equal(rejected.status, 400)
  assert.match(JSON.stringify(rejected.problem), /"error":"Title must be between 1 and 100 characters"/)
  for (const { id } of all) assert.equal((await snippets.destroyByHand(id)).status, 204)
  const missing = await snippets.destroyByHand(1)
  assert.match(JSON.stringify([missing.status, missing.problem]), /404.*Snippet not found/)
}
