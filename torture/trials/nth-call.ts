import { withClient } from '../../bench/cluster.js'
import { createClient, type Question } from '../client.js'
import { atLeast, atMost, format, trial } from '../trial.js'
import { RECORDS, recordOf } from '../writers.js'

interface Amount {
  readonly rounds: number
}

/** Every route that uses the database; the ids exist. */
const ROUTES: readonly ((id: string, title: string) => Question & { readonly writes: boolean })[] = [
  () => ({ path: RECORDS, writes: false }),
  (id) => ({ path: `${RECORDS}${id}/`, writes: false }),
  () => ({ path: '/api/snippets/', writes: false }),
  (id) => ({ path: `/api/snippets/${id}/`, writes: false }),
  (_id, title) => ({ method: 'POST', path: RECORDS, body: recordOf(title), writes: true }),
  (_id, title) => ({ method: 'POST', path: '/api/snippets/', body: recordOf(title), writes: true }),
  (id, title) => ({ method: 'PUT', path: `${RECORDS}${id}/`, body: recordOf(title), writes: true }),
  (id, title) => ({ method: 'PUT', path: `/api/snippets/${id}/`, body: recordOf(title), writes: true }),
  (id, title) => ({ method: 'PATCH', path: `${RECORDS}${id}/`, body: { title }, writes: true }),
]

const MAX_CALLS = 50

/** The first write to the database fails, then the second, and so on, until a request has fewer of them. */
export const nthCall = trial<Amount>({
  id: 'T7',
  title: 'whichever call to the database fails, the response is correct and no write is repeated',
  stores: ['postgres'],
  tiers: { commit: { rounds: 1 }, nightly: { rounds: 5 }, release: { rounds: 50 } },
  run: async (arena, { rounds }) => {
    const url = await arena.database()
    const served = await arena.serve({ url })
    const client = createClient(served.port, 1)
    arena.later(() => client.close())
    const insert = `insert into snippets (title, code, language) values ('seed', 'x', 'y') returning id`
    const id = await withClient(url, async (database) =>
      String((await database.query<{ id: string }>(insert)).rows[0]?.id),
    )
    const wrong: string[] = []
    const titles: string[] = []
    let failed = 0
    for (let round = 0; round < rounds; round++) {
      for (const [at, route] of ROUTES.entries()) {
        for (let call = 1; call < MAX_CALLS; call++) {
          const title = `round ${round} route ${at} call ${call}`
          const { writes, ...question } = route(id, title)
          await served.failAt(call)
          const { status, headers, failure } = await client.ask(question)
          const fired = await served.failAt(0)
          if (question.method === 'POST') titles.push(title)
          const expected = fired && writes ? [200, 201, 503, 504] : fired ? [200, 503] : [200, 201]
          if (status === 0 && fired && question.path === '/api/snippets/') continue
          if (!expected.includes(status))
            wrong.push(`${question.method ?? 'GET'} ${question.path} call ${call}: ${failure ?? status}`)
          if (status === 503 && headers['retry-after'] === undefined) wrong.push('503 without Retry-After')
          if (!fired) break
          failed += 1
        }
      }
    }
    const text = `select count(*) from (select from snippets where title like 'round %' group by title having count(*) > 1) twice`
    const twice = await withClient(url, async (database) =>
      Number((await database.query<{ count: string }>(text)).rows[0]?.count),
    )
    for (const line of wrong.slice(0, 10)) arena.say(line)
    for (const line of served.complaints) arena.say(line)
    return [
      atMost(wrong.length, 0, `${wrong.length} wrong responses to ${format(failed)} failed calls`),
      atLeast(failed, ROUTES.length, `each of ${ROUTES.length} routes had a failure`),
      atMost(twice, 0, `${twice} of ${format(titles.length)} creates repeated`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})
