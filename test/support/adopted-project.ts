import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { identifier } from '../../src/fields/sql-literal.js'
import type { Api } from './api.js'
import { makeProject, type Outcome, runInHost, serveInHost } from './cli.js'
import { envOf, openOnlyOnServer } from './database.js'
import { onProjectDatabase, type ProjectDatabase, recreateChecks } from './existing.js'
import { wordsOf } from './follow-help.js'
import { columnOf, type Config, isTable, tableOf } from './random-changes.js'
import type { RandomSchema } from './random-schema.js'
import { sendBackAll } from './round-trip.js'
import { describeSchema } from './schema-oracle.js'

/** A project that has taken over the tables of a database. */
export interface AdoptedProject {
  /** The commands and files so far, which reproduce a failure. */
  readonly trace: readonly string[]
  readConfig(): Promise<Config>
  writeConfig(config: Config): Promise<void>
  /** The names of the migrations, in order. */
  migrations(): Promise<readonly string[]>
  writeMigration(text: string): Promise<void>
  removeMigrations(names: readonly string[]): Promise<void>
  run(...args: readonly string[]): Promise<Outcome>
  /** Runs a command that must succeed, and confirms the losses that it names. */
  mustRun(...args: readonly string[]): Promise<void>
  onDatabase<T>(work: (database: ProjectDatabase) => Promise<T>): Promise<T>
  /** Lists the records of each resource and updates each with its own values, which must change no row. */
  serve(): Promise<void>
  /** Throws an error with an explanation. */
  fail(what: string, why: Outcome | string): never
  remove(): Promise<void>
}

export const textOf = ({ stdout, stderr }: Outcome): string => `${stdout}\n${stderr}`

/** Makes a database with these tables and rows, and takes it over. Returns undefined if migrations can take over nothing. */
export async function adopt(schema: RandomSchema): Promise<AdoptedProject | undefined> {
  const files = await makeProject({})
  const database = await openOnlyOnServer()
  if (database === undefined) commandHost.keep(files.folder)
  const trace: string[] = []
  const at = (path: string) => join(files.folder, path)
  const project: AdoptedProject = {
    trace,
    readConfig: async () => parse(await readFile(at('resources.yaml'), 'utf8')) as Config,
    writeConfig: async (config) => {
      const text = stringify(config, { lineWidth: 0 })
      trace.push(text)
      await files.write('resources.yaml', text)
    },
    migrations: async () => (await readdir(at('migrations'))).sort(),
    writeMigration: async (text) => {
      const { length } = await project.migrations()
      trace.push(text)
      await files.write(`migrations/${String(length + 1).padStart(4, '0')}_by_hand.sql`, text)
    },
    removeMigrations: async (names) => {
      for (const name of names) await rm(at(`migrations/${name}`))
    },
    run: async (...args) => {
      const outcome = await runInHost(args, { cwd: files.folder, env: envOf(database), keep: true })
      trace.push(`$ snippetctl ${args.join(' ')} # exit ${outcome.code}`)
      return outcome
    },
    mustRun: async (...args) => {
      const first = await project.run(...args)
      const [, allowed] = /allow exactly this: (.*)/.exec(first.stderr) ?? []
      const outcome = first.code === 3 && allowed ? await project.run(...args, ...wordsOf(allowed)) : first
      if (outcome.code !== 0) project.fail(args.join(' '), outcome)
    },
    onDatabase: (work) => onProjectDatabase(files, database, work),
    serve: () => serve(project, { cwd: files.folder, env: envOf(database) }),
    fail: (what, why) => {
      throw new Error(`${what}: ${typeof why === 'string' ? why : textOf(why)}\n\n${trace.join('\n')}`)
    },
    remove: async () => {
      await database?.close()
      await files.remove()
    },
  }
  try {
    await project.onDatabase((connection) => make(connection, schema))
    trace.push(...[...schema.definitions, ...schema.rows].map((each) => `${each};`))
    await project.mustRun('introspect', '--manage')
    if (Object.keys((await project.readConfig()).models).length > 0) return project
  } catch (error) {
    await project.remove()
    throw error
  }
  await project.remove()
  return undefined
}

/** Creates the tables, and the rows that break none of their rules. */
async function make(database: ProjectDatabase, { definitions, rows }: RandomSchema): Promise<void> {
  for (const text of [...definitions, 'create schema other']) await database.query({ text, values: [] })
  for (const text of rows) {
    // Host processes pass errors on as texts.
    await database.query({ text, values: [] }).catch(() => {})
  }
  await recreateChecks(database)
}

async function serve(project: AdoptedProject, options: Parameters<typeof serveInHost>[1]): Promise<void> {
  const { resources } = await project.readConfig()
  const before = await valuesOf(project)
  const { url, stop } = await serveInHost([], options)
  const headers = { 'content-type': 'application/json' }
  const api: Pick<Api, 'fetch' | 'send'> = {
    fetch: (path, init) => fetch(url + path, init),
    send: (method, path, body) => fetch(url + path, { method, headers, body: JSON.stringify(body) }),
  }
  try {
    for (const { path } of Object.values(resources))
      await sendBackAll(api, `/api${path}`).catch((error: Error) => project.fail(`requests for ${path}`, error.message))
  } finally {
    await stop()
  }
  const after = await valuesOf(project)
  for (const [name, values] of before)
    if (after.get(name) !== values) project.fail(`requests changed ${name}`, `${values} -> ${after.get(name)}`)
}

/** The number of rows of each model, and the values of each field, by their names. JSON is left out, because JavaScript reads its numbers differently. */
export async function valuesOf(project: AdoptedProject): Promise<ReadonlyMap<string, string>> {
  const { models } = await project.readConfig()
  return project.onDatabase(async (database) => {
    const found = new Map<string, string>()
    for (const [name, model] of Object.entries(models).filter(([, each]) => isTable(each))) {
      const table = tableOf(name, model)
      const from = table.startsWith('other.') ? table : identifier(table)
      const read = async (text: string) => (await database.query({ text, values: [] })).rows[0]?.[0] ?? ''
      found.set(name, `${await read(`select count(*) from ${from}`)} rows`)
      for (const [at, field] of Object.entries(model.fields).filter(([, { type }]) => type !== 'json')) {
        const value = `coalesce(${identifier(columnOf(at, field))}::text, 'null')`
        found.set(
          `${name}.${at}`,
          await read(`select string_agg(${value}, '|' order by ${value} collate "C") from ${from}`),
        )
      }
    }
    return found
  })
}

/**
 * The schema of the database, without what `down` cannot restore: the nullability of columns with rows, and the triggers and row-level security of dropped tables,
 * which no migration records.
 */
export function schemaOf(project: AdoptedProject): Promise<string> {
  return project.onDatabase(async (database) => {
    const lines = (await describeSchema(database)).replaceAll(/ NOT NULL| \| (?:YES|NO)(?= \|)|;+$/gm, '').split('\n')
    return lines.filter((line) => !/^CREATE TRIGGER | ENABLE ROW LEVEL SECURITY$/.test(line)).join('\n')
  })
}
