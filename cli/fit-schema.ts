import { rm } from 'node:fs/promises'
import {
  type AppSpec,
  type Database,
  type MigrationStep,
  planMigration,
  schemaDifferences,
  writeMigration,
} from '../src/index.js'
import { type CliContext, projectFolders, shownPath } from './context.js'
import { Failure } from './failure.js'
import type { Log } from './log.js'
import { applyPending, prepareSchema } from './schema.js'

interface Fit {
  readonly spec: AppSpec
  readonly database: Database
  readonly log: Log
}

/**
 * Makes the schema of the database fit a configuration that was just saved. On the embedded database pending migrations are applied,
 * and what only adds is written as a migration and applied; a server is looked at and never changed.
 * @returns the changes, in a few words each
 * @throws Failure 2 when it does not fit, and what migrations throw; nothing has changed then
 */
export async function fitSchema(context: CliContext, { spec, database, log }: Fit): Promise<readonly string[]> {
  const preparation = { spec, database, migrate: false, log }
  if (database.whenPending === 'refuse') {
    await prepareSchema(preparation)
    return []
  }
  await applyPending(preparation)
  if ((await schemaDifferences(spec, database)).length === 0) return []
  return addToSchema(context, preparation)
}

async function addToSchema(context: CliContext, preparation: Fit): Promise<readonly string[]> {
  const { spec } = preparation
  const { migrations } = projectFolders(spec.file)
  const plan = await planMigration(spec, migrations)
  const others = plan.steps.filter((step) => !isAddition(step))
  if (plan.refusals.length > 0 || others.length > 0 || plan.text === undefined) {
    const told = [...plan.refusals, ...others.map(({ change, subject, detail }) => `${change} ${subject} ${detail}`)]
    throw new Failure(2, `the schema would change by more than additions: ${told.join('; ')}`, [
      'look at it, and write the migration: snippetctl migrate plan --write NAME',
    ])
  }
  const files = await writeMigration(plan, migrations)
  try {
    await applyPending({ ...preparation, migrate: false })
  } catch (error) {
    for (const file of files) await rm(file, { force: true })
    throw error
  }
  const written = files.map((file) => `wrote ${shownPath(context, file)}`)
  return [...plan.steps.map(({ subject, detail }) => `+ ${subject} ${detail}`), ...written]
}

/** What is added where rows are may fail, and then nothing has changed. A rename has a migration of its own, which somebody names. */
const isAddition = ({ change, safety }: MigrationStep): boolean =>
  (change === 'add' && safety !== 'destructive') || (change === 'change' && safety === 'safe')
