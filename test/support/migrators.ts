import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { build } from 'esbuild'
import { openDatabase } from '../../src/db/open.js'
import type { TestDatabase } from './database.js'
import { waitUntil } from './wait-until.js'

const MIGRATOR = `
  import { openDatabase } from './src/db/open.ts'
  import { migrateUp } from './src/migrations/run/run.ts'
  const database = await openDatabase({ url: process.env.URL, directory: '' }, {})
  await migrateUp(database, process.env.FOLDER)
  await database.close()`

/** Compiles a migrator that runs as its own process. */
export async function buildMigrator(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: MIGRATOR, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

/** Starts it on a database and a folder of migrations. */
export function startMigrator(
  program: string,
  url: string,
  folder: string,
  errors: 'inherit' | 'ignore' = 'inherit',
): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module'], {
    env: { ...process.env, URL: url, FOLDER: folder },
    stdio: ['pipe', 'ignore', errors],
  })
  child.stdin.end(program)
  return child
}

/** Kills a process without a chance to clean up, like a power cut. */
export async function killNow(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  // False if it has ended by itself.
  if (child.kill('SIGKILL')) await exit
}

/** Waits until a condition holds in a database. */
export async function until(database: TestDatabase, condition: string): Promise<void> {
  await waitUntil(async () => {
    const { rows } = await database.query({ text: `select (${condition})::text`, values: [] })
    return rows[0]?.[0] === 'true'
  })
}

/** Starts work while another session holds the lock of `lock`, and releases it once the condition is met. */
export async function whileHeld<T>(
  database: TestDatabase,
  { lock, condition }: { readonly lock: string; readonly condition: string },
  start: () => Promise<T>,
): Promise<T> {
  const holder = await openDatabase({ url: database.url, directory: '' }, {})
  try {
    const [work] = await holder.transaction(
      async (connection) => {
        await connection.query({ text: lock, values: [] })
        const started = start()
        await until(database, condition)
        return [started]
      },
      { unlimited: true },
    )
    return await work
  } finally {
    await holder.close()
  }
}
