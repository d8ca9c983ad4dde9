import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { makeProject, type Outcome, type Project, type RunOptions, runInHost } from './cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from './database.js'
import { onProjectDatabase, type ProjectDatabase, runSql } from './existing.js'

/** A project for each test of a file, with a database of its own. No other process can use an embedded one. */
export interface TestProject extends Pick<Project, 'write'> {
  readonly folder: string
  /** Runs a command in it. */
  run(...args: readonly string[]): Promise<Outcome>
  /** Closes the database. Returns the folder and environment for a process that uses it. */
  release(): Promise<Pick<RunOptions, 'cwd' | 'env'>>
  /** Runs statements in its database. */
  sql(statements: string): Promise<void>
  /** Does work with its database. */
  onDatabase<T>(work: (database: ProjectDatabase) => Promise<T>): Promise<T>
}

/** Makes a project with these files before each test of the file, and removes it afterwards. */
export function projectPerTest(files: Readonly<Record<string, string>> = {}): TestProject {
  let project: Project
  let database: TestDatabase | undefined
  beforeAll(async () => {
    project = await makeProject({})
  })
  beforeEach(async () => {
    for (const [path, text] of Object.entries(files)) await project.write(path, text)
    database = await openOnlyOnServer()
    if (database === undefined) commandHost.keep(project.folder)
  })
  afterEach(async () => {
    await database?.close()
    await emptyProject(project.folder)
  })
  afterAll(() => project.remove())
  return {
    get folder() {
      return project.folder
    },
    write: (path, text) => project.write(path, text),
    run: (...args) => runInHost(args, { cwd: project.folder, env: envOf(database), keep: true }),
    release: async () => {
      await commandHost.release(project.folder)
      return { cwd: project.folder, env: envOf(database) }
    },
    sql: (statements) => onProjectDatabase(project, database, (connection) => runSql(connection, statements)),
    onDatabase: (work) => onProjectDatabase(project, database, work),
  }
}

/** Removes everything but an embedded database that can be emptied, because making one takes longer. */
async function emptyProject(folder: string): Promise<void> {
  const isEmpty = await commandHost.empty(folder)
  // The lock of the open database has a pipe next to it: `pg.lock.UUID`.
  const remains = (path: string) => isEmpty && /^\.snippetctl(?:\/pg(?:\.lock(?:\..*)?)?)?$/.test(path)
  const entries = ['.', ...(isEmpty ? ['.snippetctl'] : [])]
  for (const parent of entries) {
    for (const name of await readdir(join(folder, parent))) {
      const path = join(parent, name)
      if (!remains(path)) await rm(join(folder, path), { recursive: true, force: true })
    }
  }
}
