import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createContext, type Lifecycle } from '../cli/context.js'
import { createProgram } from '../cli/program.js'
import { createService, loadApplication, openDatabase, openScratch } from '../src/internal.js'
import { createAll, wantedTables } from '../src/migrations/plan/sql.js'

/** A configuration to try. */
export interface ConfigQuestion {
  readonly text: string
  /** An empty database on which an accepted configuration is served. */
  readonly url?: string
}

/** The result. */
export interface ConfigVerdict {
  readonly accepted: boolean
  /** Mistakes that are not told with a place inside the file. */
  readonly placeless: readonly string[]
  /** Invalid responses of the configuration's own routes. */
  readonly unserved: readonly string[]
  readonly milliseconds: number
  readonly rss: number
}

// A process of its own, because V8 can be brought to end the process in a way that nothing catches.
process.on('message', (question: ConfigQuestion) => {
  const started = performance.now()
  judge(question).then(
    (verdict) =>
      process.send?.({ ...verdict, milliseconds: performance.now() - started, rss: process.memoryUsage().rss }),
    (error: unknown) =>
      process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
process.send?.('ready')

type Judged = Pick<ConfigVerdict, 'accepted' | 'placeless' | 'unserved'>

async function judge({ text, url }: ConfigQuestion): Promise<Judged> {
  const folder = mkdtempSync(join(tmpdir(), 'torture-config-'))
  const file = join(folder, 'resources.yaml')
  const bytes = Buffer.from(text, 'latin1')
  writeFileSync(file, bytes)
  try {
    const { code, said } = await check(folder)
    const placeless = findPlaceless(said, new TextDecoder().decode(bytes).split(/\r\n|\n|\r/))
    if (code === 0) return { accepted: true, placeless, unserved: url === undefined ? [] : await serve(file, url) }
    if (code !== 1) throw new Error(`check ended with ${code}: ${said}`)
    return { accepted: false, placeless: said.includes('error[') ? placeless : [`no reason: ${said}`], unserved: [] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The command line's own `check`, in this process: a process for each file would take a hundred times as long. */
async function check(cwd: string): Promise<{ readonly code: number; readonly said: string }> {
  let code = 2
  let said = ''
  const stream = new PassThrough().on('data', (piece: Buffer) => (said += piece.toString()))
  const { stdin } = process
  const output = stream as unknown as NodeJS.WriteStream
  const argv = ['check', '--all']
  const from = {
    argv,
    cwd,
    env: { SNIPPETCTL_ENV_FILE: '' },
    startedAt: 0,
    version: '',
    stdin,
    stdout: output,
    stderr: output,
    program: '',
    parent: undefined,
  }
  const context = createContext(from, { ...LIFECYCLE, finish: (exitCode) => (code = exitCode) })
  await createProgram(context).parseAsync(argv, { from: 'user' })
  stream.end()
  await once(stream, 'end')
  return { code, said }
}

const ignore = (): void => {}
const LIFECYCLE: Lifecycle = {
  onStop: ignore,
  onCrash: ignore,
  onUnwritable: ignore,
  onReplace: ignore,
  onExit: ignore,
  exit: ignore,
  finish: ignore,
  openDatabase,
  openScratch: () => openScratch(),
}

const MISTAKE = /^(?:error|warning)\[.*\n(.*)$/gm
const PLACE = /^ *--> .+:(\d+):(\d+)$/

/** The mistakes below which no place inside the file stands. */
function findPlaceless(said: string, lines: readonly string[]): readonly string[] {
  return [...said.matchAll(MISTAKE)]
    .filter(([, below = '']) => {
      const [, line = 0, column = 0] = (PLACE.exec(below) ?? []).map(Number)
      const width = [...(lines[line - 1] ?? '')].length
      return !(line >= 1 && line <= lines.length && column >= 1 && column <= width + 1)
    })
    .map(([mistake]) => mistake)
}

/** Serves an accepted configuration, and asks each of its lists. */
async function serve(file: string, url: string): Promise<readonly string[]> {
  const database = await openDatabase({ url, directory: '' }, {})
  try {
    const loaded = await loadApplication({ file, env: {}, importModule: (path) => import(path) })
    // A plugin or setting that is only named cannot be there.
    if (!loaded.ok) return []
    await database.query({ text: 'drop schema public cascade; create schema public', values: [] })
    await database.query({ text: createAll(wantedTables(loaded.spec)).join(';\n'), values: [] })
    const service = createService(loaded.app, database, { log: { info: () => undefined, error: () => undefined } })
    const { url: address } = await service.listen({ port: 0, host: '127.0.0.1' })
    const lists = loaded.spec.resources.filter(({ operations }) => operations.includes('list'))
    const answers = await Promise.all(
      lists.map(async ({ path }) => [path, (await fetch(address + path)).status] as const),
    )
    await service.drain()
    return answers.filter(([, status]) => status !== 200).map(([path, status]) => `${path} answers ${status}`)
  } finally {
    await database.close()
  }
}
