import { afterEach, beforeEach } from '@jest/globals'
import { makeProject, type Outcome, type Project, runInHost } from './cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from './database.js'
import { onProjectDatabase, runSql } from './existing.js'

/** A project for each test of a file, with a database of its own. */
export interface TestProject extends Pick<Project, 'write'> {
  readonly folder: string
  /** Runs a command in it. */
  run(...args: readonly string[]): Promise<Outcome>
  /** Runs statements in its database. */
  sql(statements: string): Promise<void>
}

/** Makes a project before each test of the file, and removes it afterwards. */
export function projectPerTest(): TestProject {
  let project: Project
  let database: TestDatabase | undefined
  beforeEach(async () => {
    project = await makeProject({})
    database = await openOnlyOnServer()
  })
  afterEach(async () => {
    await database?.close()
    await project.remove()
  })
  return {
    get folder() {
      return project.folder
    },
    write: (path, text) => project.write(path, text),
    run: (...args) => runInHost(args, { cwd: project.folder, env: envOf(database) }),
    sql: (statements) => onProjectDatabase(project, database, (connection) => runSql(connection, statements)),
  }
}
