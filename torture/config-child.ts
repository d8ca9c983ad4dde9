import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createService, loadApplication, openDatabase } from '../src/index.js'
import { createAll, wantedTables } from '../src/migrations/sql.js'
import { checkText } from '../test/support/config.js'

/** What a parent wants to know of one text. */
export interface ConfigQuestion {
  readonly text: string
  /** An empty database on which an accepted configuration is served. */
  readonly url?: string
}

/** What became of it. */
export interface ConfigVerdict {
  readonly accepted: boolean
  /** Mistakes that are not told with a place inside the file. */
  readonly placeless: readonly string[]
  /** What its own routes answered that they must not. */
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

type Judged = Pick<ConfigVerdict, 'accepted' | 'placeless' | 'unserved'>

async function judge({ text, url }: ConfigQuestion): Promise<Judged> {
  const bytes = Buffer.from(text, 'latin1')
  const result = checkText(bytes)
  if (!Array.isArray(result)) {
    return { accepted: true, placeless: [], unserved: url === undefined ? [] : await serve(bytes, url) }
  }
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/)
  const placeless = result.filter(({ range: { start } }) => {
    const width = [...(lines[start.line - 1] ?? '')].length
    return !(start.line >= 1 && start.line <= lines.length && start.column >= 1 && start.column <= width + 1)
  })
  const silent = result.length === 0 ? ['refused without a reason'] : []
  return { accepted: false, placeless: [...silent, ...placeless.map(({ message }) => message)], unserved: [] }
}

/** Serves an accepted configuration, and asks each of its lists. */
async function serve(bytes: Buffer, url: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'torture-config-'))
  const file = join(folder, 'resources.yaml')
  writeFileSync(file, bytes)
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
    rmSync(folder, { recursive: true, force: true })
  }
}
