import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Json } from '../../src/index.js'
import { explainRead, loadApplication, type PlanStep } from '../../src/internal.js'
import { ddlOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'

const folder = mkdtemp(join(tmpdir(), 'snippetctl-'))
afterAll(async () => rm(await folder, { recursive: true }))

const FIELDS = {
  id: { type: 'bigint', primary_key: true },
  title: { type: 'string', max: 50 },
  code: { type: 'string', max: 20, unique: true },
  mark: { type: 'string', max: 20, unique: true, nullable: true },
  author: { type: 'belongs_to', model: 'author' },
  pages: { type: 'integer', nullable: true },
  read_on: { type: 'date' },
  price: { type: 'decimal', precision: 8, scale: 2 },
}
const NAMES = Object.keys(FIELDS)

/** A value of each field as it stands in a query. */
const VALUES: Readonly<Record<string, string>> = { read_on: '2000-01-01', price: '1.50' }

const fields = (maxLength: number) => fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength })
const indexes = fc.uniqueArray(
  fc.tuple(fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), fc.boolean()),
  { maxLength: 3, selector: ([names]) => names.join() },
)
const resource = fc.record({
  filterable: fields(3),
  orderable: fields(3),
  order: fc.tuple(fields(2), fc.boolean()),
  style: fc.constantFrom('page_number', 'cursor', 'limit_offset'),
})

interface Shown {
  readonly filterable: readonly string[]
  readonly orderable: readonly string[]
  readonly order: readonly [names: readonly string[], descending: boolean]
  readonly style: string
}

/** An empty list is no value in the file: the key is left out. */
const unlessEmpty = (key: string, list: readonly Json[]) => (list.length === 0 ? {} : { [key]: list })

const load = async (indexed: readonly Json[], shown: Shown) => {
  const { filterable, orderable, style } = shown
  const [names, descending] = shown.order
  const default_order = names.map((name) => (descending ? `-${name}` : name))
  const config = {
    version: 1,
    models: {
      author: { fields: { id: { type: 'integer', primary_key: true } } },
      book: { fields: FIELDS, ...unlessEmpty('indexes', indexed) },
    },
    resources: {
      book: {
        model: 'book',
        path: '/books/',
        ...unlessEmpty('filterable', filterable),
        ...unlessEmpty('orderable', orderable),
        ...unlessEmpty('default_order', default_order),
        pagination: { style },
      },
    },
  }
  const file = join(await folder, 'resources.yaml')
  // JSON is YAML, in which indexes stand in one line.
  await writeFile(file, JSON.stringify(config))
  const loaded = await loadApplication({ file, env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  const missing = loaded.warnings().filter(({ code }) => code === 'SC401')
  return { ...loaded, additions: missing.map(({ help: [line = ''] }) => /`indexes: (.*)`$/.exec(line)?.[1] ?? line) }
}

/** `[[a, b], { fields: [c], unique: true }]` as JSON. */
const parse = (line: string): readonly Json[] =>
  JSON.parse(line.replaceAll(/[a-z_]+/g, (word) => (word === 'true' ? word : `"${word}"`)))

const stepsOf = (step: PlanStep): readonly PlanStep[] => [step, ...step.steps.flatMap(stepsOf)]

/** What the statement that counts does, which asks for no order. */
const countOf = (step: PlanStep): readonly PlanStep[] =>
  step.part?.startsWith('InitPlan') ? stepsOf(step) : step.steps.flatMap(countOf)

/** With reading whole tables and sorting from scratch made dear, a plan has them only where nothing else can be done. */
const DEAR = ['set local enable_seqscan = off', 'set local enable_sort = off', 'set local enable_bitmapscan = off']

test('for any configuration, the indexes that check suggests suffice, and each list uses one', async () => {
  await fc.assert(
    fc.asyncProperty(indexes, resource, async (declared, shown) => {
      const own = declared.map(([names, unique]) => (unique ? { fields: names, unique } : names))
      const before = await load(own, shown)
      const [line] = before.additions
      const { app, spec, additions } = line === undefined ? before : await load(parse(line), shown)
      expect(additions).toEqual([])
      const [book] = app.resources
      if (!book) throw new Error('no resource')
      const database = await openTestDatabase(ddlOf(spec))
      try {
        const queries = [
          '',
          ...shown.orderable.flatMap((field) => [`ordering=${field}`, `ordering=-${field}`]),
          ...shown.filterable.map((field) => `${field}=${VALUES[field] ?? '1'}`),
        ]
        for (const query of queries) {
          const read = { plan: book.parseList(query).plan }
          const { root } = await database.transaction(async (connection) => {
            for (const each of DEAR) await connection.query({ text: each, values: [] })
            // The explanation opens a transaction of its own; here it is the one that the settings are for.
            const inside = Object.create(database, {
              transaction: { value: (work: (it: typeof connection) => unknown) => work(connection) },
            })
            return explainRead({ resource: book, links: app.routes, read }, inside)
          })
          const steps = stepsOf(root)
          expect({ query, whole: steps.filter(({ type }) => type === 'Seq Scan') }).toEqual({ query, whole: [] })
          if (query === '' || query.startsWith('ordering')) {
            expect({ query, sorts: steps.filter(({ type }) => type === 'Sort') }).toEqual({ query, sorts: [] })
          } else {
            const details = countOf(root).flatMap((step) => step.details)
            expect({ query, details }).toEqual({ query, details: [expect.stringMatching(/^Index Cond/)] })
          }
        }
      } finally {
        await database.close()
      }
    }),
    { numRuns: 25 },
  )
})
