import type { AppSpec, Database, MigrationFolder } from '../src/index.js'
import { type CliContext, type CommonOptions, requireApplication } from './context.js'
import { onDatabase } from './database.js'
import type { ExitCode } from './failure.js'

/** What a command works on beside the database. */
export interface Project {
  readonly spec: AppSpec
  /** Of the migrations. */
  readonly folder: MigrationFolder
}

/**
 * Does work on the database of the project.
 * @throws Failure 2 when the database cannot be reached
 */
export async function withDatabase(
  context: CliContext,
  options: CommonOptions,
  work: (database: Database, project: Project) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { spec } = await requireApplication(context, options)
  return onDatabase(context, spec, (database, folder) => work(database, { spec, folder }))
}
