import type { Json } from '../../foundation/json.js'
import { Problem } from '../../foundation/problem.js'
import { adviseIndex, type IndexAdvice } from '../../resource/lists/index-advice.js'
import type { Links } from '../../resource/bodies/links.js'
import type { Id, ListPlan, Selection } from '../../resource/plan.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Resource } from '../../resource/resource.js'
import type { Database, Statement } from '../database.js'
import { documentProjection } from './projections.js'
import { type Access, accessesOf, type PlanStep, readPlan } from './plan-tree.js'
import { compileStatements } from './statements.js'

/** A request for a list or one record. */
export type Read = { readonly plan: ListPlan } | { readonly id: Id; readonly selection?: Selection | undefined }

/** The statement of a request, and how PostgreSQL executes it. */
export interface Explanation {
  readonly sql: string
  readonly values: Statement['values']
  /** False if the statement was too slow; then it was only planned. */
  readonly ran: boolean
  readonly milliseconds: number | undefined
  /** Pages of 8 kB that were read, from memory or disk. */
  readonly pages: number | undefined
  /** The rows of the page or record, plus one that tells whether another page follows. */
  readonly rows: { readonly estimated: number; readonly actual: number | undefined }
  readonly root: PlanStep
  readonly accesses: readonly Access[]
  /** Undefined for one record, whose key is always indexed. */
  readonly advice: IndexAdvice | undefined
  /** PostgreSQL's own plan. */
  readonly plan: Json
}

interface Explained {
  readonly Plan: Readonly<Record<string, Json>>
  readonly 'Execution Time'?: number
}

/**
 * Explains the statement that a server would send for a request, by running it in a read-only transaction.
 * @throws Problem for an error of the database
 */
export async function explainRead(
  { resource, links, read }: { readonly resource: Resource; readonly links: Links; readonly read: Read },
  database: Database,
): Promise<Explanation> {
  const { text, values } = statementOf(resource, links, read)
  const explain = (options: string) =>
    database.transaction(async (connection) => {
      await connection.query({ text: 'set transaction read only', values: [] })
      return connection.query({ text: `explain (${options}, format json) ${text}`, values })
    })
  const result = await explain('analyze, buffers').catch((error: unknown) => {
    if (error instanceof Problem && error.type === 'timeout') return explain('costs')
    throw error
  })
  const [explained] = JSON.parse(result.rows[0]?.[0] ?? '[]') as readonly Explained[]
  if (explained === undefined) throw new Error('an explain returned no plan')
  const { Plan: plan, 'Execution Time': milliseconds } = explained
  const root = readPlan(plan)
  const ran = root.actual !== undefined
  // The statement of a list returns one row that contains all rows of the page.
  const { estimated, actual } = ('plan' in read && root.steps.find(({ part }) => part === undefined)) || root
  return {
    sql: text,
    values,
    ran,
    milliseconds,
    pages: ran ? Number(plan['Shared Hit Blocks'] ?? 0) + Number(plan['Shared Read Blocks'] ?? 0) : undefined,
    rows: { estimated, actual },
    root,
    accesses: accessesOf(root, 'plan' in read),
    advice: 'plan' in read ? adviseIndex(resource.spec.model, read.plan) : undefined,
    plan,
  }
}

function statementOf(resource: Resource, links: Links, read: Read): Statement {
  const { model } = resource.spec
  const statements = compileStatements(model, { projection: documentProjection(resource, links) })
  if ('plan' in read) return statements.list(undefined, read.plan)
  const id = recordKey(model).write(read.id)
  return read.selection ? statements.look(undefined, id, read.selection) : statements.retrieve(undefined, id)
}
