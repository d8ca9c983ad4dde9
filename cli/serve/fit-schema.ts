import { rm } from 'node:fs/promises'
import {
  type AppSpec,
  type Database,
  MigrationError,
  applyGrowth,
  canGrow,
  planAdditions,
  planGrowth,
  readMigrations,
  schemaDifferences,
  wantSameTables,
  writeMigration,
} from '../../src/internal.js'
import { type CliContext, projectFolders, shownPath } from '../context.js'
import { Failure } from '../failure.js'
import type { Log } from './log/log.js'
import { findOpen, growOpen, markOpen } from './open-migration.js'
import { applyPending, prepareSchema } from './schema.js'
import { scratchOf, withSilentScratch } from '../migrate/scratch.js'

interface Fit {
  readonly spec: AppSpec
  /** The last configuration that the schema was made to fit. */
  readonly before: AppSpec
  readonly database: Database
  readonly log: Log
}

/** The result, as short texts for the log. */
interface Fitted {
  readonly changes: readonly string[]
  /** Changes that were not made, because they are more than additions. */
  readonly left: readonly string[]
  /** Why other changes could not be made or planned, one sentence each. */
  readonly unmade: readonly string[]
  /** The files that were written. */
  readonly files: readonly string[]
  /** Whether additions failed, so that the next reload must try them again. */
  readonly failed?: true
}

const NOTHING: Fitted = { changes: [], left: [], unmade: [], files: [] }

/**
 * Makes the schema of the database fit a configuration that was just saved. On the embedded database, applies pending migrations, and writes
 * and applies a migration for additions. A PostgreSQL server is only checked.
 * @param serve called as soon as the schema fits the configuration
 * @throws Failure 2 if the schema does not fit, and the errors of migrations; then nothing has changed and `serve` was not called
 */
export async function fitSchema(context: CliContext, fit: Fit, serve: () => void): Promise<Fitted> {
  const { spec, before, database, log } = fit
  const preparation = { spec, database, migrate: false, log }
  if (database.whenPending === 'reject') {
    await prepareSchema(preparation)
    serve()
    return NOTHING
  }
  await applyPending(preparation).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 3 ? withStopHint(error) : error
  })
  const lacks = await schemaDifferences(spec, database)
  if (lacks.length > 0) {
    const added = await add(context, fit, lacks)
    serve()
    return added
  }
  serve()
  if (wantSameTables(before, spec)) return NOTHING
  // The rest (indexes, checks, other tables) is not needed to serve the configuration.
  return add(context, fit, lacks).catch((error: unknown) => {
    if (!(error instanceof MigrationError)) throw error
    return { ...NOTHING, unmade: error.errors, failed: true }
  })
}

/** @param lacks the tables and columns without which the configuration cannot be served */
async function add(context: CliContext, { spec, before, database, log }: Fit, lacks: readonly string[]) {
  const { migrations } = projectFolders(spec.file)
  const known = await readMigrations(migrations)
  const { plan, open, growth } = await withSilentScratch(
    context,
    { ...scratchOf(context), config: spec.file, tables: spec.models.length },
    async (scratch) => {
      const made = await planAdditions(spec, before, known, scratch)
      const last = made.text === undefined ? undefined : await findOpen(spec.file, known)
      const open = last && canGrow(last, made) ? last : undefined
      return { plan: made, open, growth: open && (await planGrowth({ spec, before }, known, made, scratch)) }
    },
  )
  const { text, steps, rejections, unmet } = plan
  const left = leftWords(plan, shownPath(context, spec.file))
  if (lacks.length > 0 && text === undefined) throw notAdditions(plan, lacks)
  if (text === undefined) return { ...NOTHING, left, unmade: [...rejections.map(firstLine), ...unmet] }
  const added = steps.map(({ subject, detail }) => `+ ${subject} ${detail}`)
  if (open && growth) {
    await growOpen(spec.file, open, growth, () => applyGrowth(database, known, growth))
    return {
      changes: [...added, `rewrote ${shownPath(context, open.file)}`],
      left,
      unmade: [],
      files: [open.file],
    }
  }
  const files = await writeMigration(plan, migrations)
  try {
    await applyPending({ spec, database, migrate: false, log })
  } catch (error) {
    for (const file of files) await rm(file, { force: true })
    throw error
  }
  const last = (await readMigrations(migrations)).at(-1)
  if (last) await markOpen(spec.file, last)
  const written = files.map((file) => `wrote ${shownPath(context, file)}`)
  return { changes: [...added, ...written], left, unmade: [], files }
}

/** Only a command can ask for consent, and it cannot open the embedded database while this process has it. */
function withStopHint({ code, message, help }: Failure): Failure {
  return new Failure(code, message, [
    'stop this server first: only one process can open the embedded database',
    ...help,
  ])
}

const PLAN = 'look at it, and write the migration: snippetctl migrate plan --write NAME'

type Plan = Awaited<ReturnType<typeof planAdditions>>

function leftWords({ left, orphans }: Plan, file: string): readonly string[] {
  return [
    ...left.map(({ change, subject }) => `${change} ${subject}`),
    ...orphans.map((table) => `drop ${table} (which takes \`dropped: [${table}]\` at the top of ${file})`),
  ]
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** An error of the planner is one line, followed by the lines of YAML that would resolve it. */
function notAdditions({ left, rejections, unmet }: Plan, lacks: readonly string[]): Failure {
  const reasons = [
    ...rejections.map(firstLine),
    ...left.map(({ change, subject, detail }) => `${change} ${subject} ${detail}`),
    ...unmet,
  ]
  const repairs = rejections.flatMap((text) => text.split('\n').slice(1)).map((line) => `write ${line.trim()}`)
  const message = `the schema would change by more than additions: ${(reasons.length > 0 ? reasons : lacks).join('; ')}`
  return new Failure(2, message, repairs.length > 0 ? repairs : [PLAN])
}
