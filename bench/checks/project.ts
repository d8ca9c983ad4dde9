import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withClient } from '../cluster.js'
import { insertRows } from '../rows.js'
import { type Running, startServer } from '../server.js'
import type { CheckParts, Finding } from './check.js'

/** The number of rows in `snippets`. */
export const ROWS = 1_000

/** A database with a table of snippets, and configurations of our own for it. */
export interface Project {
  /** Runs a command with a configuration, and returns its output. */
  run(configuration: string, ...words: readonly string[]): string
  /** Serves a configuration until the check ends. */
  serve(configuration: string): Promise<Running>
}

/**
 * Makes the tables of a configuration, fills `snippets`, and runs a check.
 * @param sql statements that fill other tables
 */
export async function inProject(
  { postgres, ours }: CheckParts,
  {
    name,
    configuration,
    sql = [],
  }: { readonly name: string; readonly configuration: string; readonly sql?: readonly string[] },
  check: (project: Project) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), `snippetctl-${name}-`))
  const [program = ''] = ours.program
  const servers: Running[] = []
  const url = await postgres.database(name)
  let files = 0
  const fileOf = (text: string) => {
    const file = join(directory, `${(files += 1)}.yaml`)
    writeFileSync(file, text)
    return file
  }
  const project: Project = {
    run: (text, ...words) =>
      execFileSync(process.execPath, [program, ...words, '--config', fileOf(text)], {
        cwd: ours.directory,
        env: { ...process.env, DATABASE_URL: url },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    async serve(text) {
      const contestant = { ...ours, program: [...ours.program, '--config', fileOf(text)] }
      const server = await startServer({ contestant, url, path: '/openapi.json' })
      servers.push(server)
      return server
    },
  }
  try {
    project.run(configuration, 'migrate', 'plan', '--write', 'tables')
    project.run(configuration, 'migrate', 'up')
    await withClient(url, async (client) => {
      await client.query(insertRows(ROWS))
      for (const statement of sql) await client.query(statement)
      await client.query('vacuum analyze')
    })
    return await check(project)
  } finally {
    for (const server of servers) await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
