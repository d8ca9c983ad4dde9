import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { loadRows, startPostgres } from './cluster.js'
import { HOME } from './contestants.js'

/** A change of the table while others read and write it. */
interface Change {
  readonly name: string
  /** Edits the text of the configuration. */
  readonly edit: (yaml: string) => string
  readonly flags: readonly string[]
  /** Whether requests may wait for longer than the limit. */
  readonly blocks?: true
}

/** The longest time in milliseconds that a request may wait for a change that does not block. */
const LONGEST_WAIT_MS = 100

const CREATED_AT = '      created_at: { type: timestamp, auto: on_create }'

const CHANGES: readonly Change[] = [
  {
    name: 'add_stars',
    edit: (yaml) => yaml.replace(CREATED_AT, `      stars: { type: integer, nullable: true }\n${CREATED_AT}`),
    flags: [],
  },
  {
    name: 'rename_code',
    edit: (yaml) => yaml.replace(/^ {6}code: +\{ /m, '      source: { '),
    flags: ['--rename', 'snippets.code:source'],
  },
  {
    name: 'index_stars',
    edit: (yaml) => yaml.replace('    indexes:\n', '    indexes:\n      - [stars, id]\n'),
    flags: [],
  },
  {
    name: 'rule_stars',
    edit: (yaml) => yaml.replace('stars: { type: integer, nullable', 'stars: { type: integer, minimum: 1, nullable'),
    flags: [],
  },
  {
    name: 'unique_stars',
    edit: (yaml) => yaml.replace('stars: { type: integer,', 'stars: { type: integer, unique: true,'),
    flags: [],
  },
  {
    name: 'longer_title',
    edit: (yaml) => yaml.replace(/^( {6}title: .*)max: 100/m, '$1max: 150'),
    flags: [],
  },
  {
    name: 'add_note',
    edit: (yaml) =>
      yaml.replace(CREATED_AT, `      note: { type: string, max: 9, default: x, nullable: true }\n${CREATED_AT}`),
    flags: [],
  },
  {
    name: 'require_note',
    edit: (yaml) => yaml.replace('default: x, nullable: true', 'default: x'),
    flags: [],
  },
  {
    name: 'relate_authors',
    edit: (yaml) =>
      yaml
        .replace(
          'models:\n',
          'models:\n  author: { table: authors, fields: { id: { type: bigint, primary_key: true } } }\n',
        )
        .replace(CREATED_AT, `      writer: { type: belongs_to, model: author, nullable: true }\n${CREATED_AT}`),
    flags: [],
  },
  // For comparison: this one blocks writes while it is built.
  {
    name: 'index_plainly',
    edit: (yaml) => yaml.replace('    indexes:\n', '    indexes:\n      - [stars, language, id]\n'),
    flags: ['--no-concurrently'],
    blocks: true,
  },
]

/** The limits of the service, so that what would fail there fails here. */
const LIMITS = "set lock_timeout = '2s'; set statement_timeout = '5s'"
const READ = 'select id, title, language from snippets where id = $1'
const WRITE = 'update snippets set language = language where id = $1'
const CLIENTS = 4
const APPLICATION = 'clients of the bench'
/** Clients also wait for the processor and for the disk. This tells for how long the clients have been waiting for a lock. */
const LOCK_WAIT = `select coalesce(max(extract(milliseconds from clock_timestamp() - query_start)), 0)::float as waited
  from pg_stat_activity where application_name = '${APPLICATION}' and wait_event_type = 'Lock'`
const SAMPLE_MS = 10
/** How long the clients run without a change, to tell waits from the noise of the machine. */
const QUIET_MS = 5_000

/** What clients observed for one kind of statement. */
interface Seen {
  count: number
  longest: number
  readonly errors: string[]
}

/** Reads and writes until it is stopped; each client sends one statement after another. */
function startLoad(url: string, rows: number) {
  const state = { stopped: false }
  const work = async (text: string, seen: Seen) => {
    const client = new pg.Client({ connectionString: url, application_name: APPLICATION })
    await client.connect()
    await client.query(LIMITS)
    while (!state.stopped) {
      const sent = performance.now()
      const id = 1 + Math.floor(Math.random() * rows)
      await client.query(text, [id]).catch((error: Error) => seen.errors.push(error.message))
      seen.count += 1
      seen.longest = Math.max(seen.longest, performance.now() - sent)
    }
    await client.end()
  }
  const fresh = (): Seen => ({ count: 0, longest: 0, errors: [] })
  const [reads, writes] = [fresh(), fresh()]
  const locks = { longest: 0 }
  const sample = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    while (!state.stopped) {
      const { rows: found } = await client.query<{ waited: number }>(LOCK_WAIT)
      locks.longest = Math.max(locks.longest, found[0]?.waited ?? 0)
      await delay(SAMPLE_MS)
    }
    await client.end()
  }
  const sampled = sample()
  const clients = Array.from({ length: CLIENTS }, () => [work(READ, reads), work(WRITE, writes)]).flat()
  return async () => {
    state.stopped = true
    await Promise.all([...clients, sampled])
    return { reads, writes, locks }
  }
}

const say = (line: string) => process.stdout.write(`${line}\n`)

const shown = ({ count, longest, errors }: Seen): string =>
  `${count.toLocaleString('en-US')}, the slowest ${Math.round(longest)} ms, ` +
  (errors.length === 0 ? 'no error' : `${errors.length} errors: ${[...new Set(errors)].join('; ')}`)

async function main(rows: number): Promise<void> {
  const postgres = await startPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'bench-migrations-'))
  process.once('SIGINT', () => void postgres.remove().then(() => process.exit(130)))
  try {
    say(`PostgreSQL ${postgres.version}, ${rows.toLocaleString('en-US')} rows, ${CLIENTS} readers, ${CLIENTS} writers`)
    const url = await loadRows(postgres, rows)
    const file = join(folder, 'resources.yaml')
    cpSync(join(HOME, 'migrations'), join(folder, 'migrations'), { recursive: true })
    writeFileSync(file, withoutPlugins(readFileSync(join(HOME, 'resources.yaml'), 'utf8')))
    const stop = startLoad(url, rows)
    await delay(QUIET_MS)
    const { reads, writes } = await stop()
    say(`\nwithout a change  reads: ${shown(reads)}\n                 writes: ${shown(writes)}`)
    for (const change of CHANGES) await make(change, { folder, file, url, rows })
  } finally {
    rmSync(folder, { recursive: true })
    await postgres.remove()
  }
}

/** Only the models: the resource and the plugin use the renamed names. */
function withoutPlugins(yaml: string): string {
  return yaml.replace(/^(?:settings|plugins|resources):.*\n(?:(?: .*)?\n)*/gm, '')
}

interface Place {
  readonly folder: string
  readonly file: string
  readonly url: string
  readonly rows: number
}

async function make({ name, edit, flags, blocks }: Change, { folder, file, url, rows }: Place): Promise<void> {
  writeFileSync(file, edit(readFileSync(file, 'utf8')))
  const run = (...args: readonly string[]) =>
    runCommand(['migrate', ...args], { cwd: folder, env: { ...process.env, DATABASE_URL: url } })
  say(`\n${name}`)
  say(await run('plan', ...flags, '--measure', '--on', url, '--write', name))
  const stop = startLoad(url, rows)
  const applied = await run('up')
  const { reads, writes, locks } = await stop()
  say(`${applied}  meanwhile   reads: ${shown(reads)}\n              writes: ${shown(writes)}`)
  const longest = Math.round(Math.max(reads.longest, writes.longest))
  const verdict = longest <= LONGEST_WAIT_MS ? 'met' : 'missed'
  const waited = `the longest wait for a lock ${Math.round(locks.longest)} ms`
  say(blocks ? `  ${waited}` : `  at most ${LONGEST_WAIT_MS} ms: ${verdict}, ${longest} ms; ${waited}`)
}

/** Runs a command in another process, while this one generates the load. */
function runCommand(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  return new Promise((done, fail) => {
    execFile(process.execPath, [resolve(HOME, 'bin/snippetctl.js'), ...args], options, (error, stdout, stderr) => {
      if (error) fail(new Error(`${args.join(' ')}: ${stderr}`))
      else done(args[1] === 'up' ? stderr : stdout)
    })
  })
}

await main(Number(process.argv[2] ?? 2_000_000))
