import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import type { Lifecycle } from '../../cli/context.js'
import { runCommandLine } from '../../cli/run.js'
import { dump, modelOf, openDatabase, openScratch } from '../../src/internal.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, inherited, makeProject, type Project } from '../support/cli.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'

/** By how much the clock of the commands is fast: bars appear after two seconds. */
let fast = 0
const real = performance.now.bind(performance)

let project: Project
beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': BOOKS,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    'access.yaml': `version: 1
auth: { roles: { names: [member] } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 20 } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: member, may: read, rows: { text: open } }] }
`,
  })
})
afterAll(() => project.remove())
afterEach(() => {
  jest.restoreAllMocks()
  fast = 0
})

/** Runs a command whose stderr is a terminal, and returns what it shows there. */
async function shown(...args: readonly string[]): Promise<string> {
  jest.spyOn(performance, 'now').mockImplementation(() => real() + fast)
  const [stdout, stderr] = [false, true].map((isTTY) => Object.assign(new PassThrough(), { isTTY, columns: 80 }))
  let text = ''
  stderr?.on('data', (piece: Buffer) => (text += String(piece)))
  const ignored = () => {}
  const lifecycle: Lifecycle = {
    ...{ onStop: ignored, onCrash: ignored, onUnwritable: ignored, onReplace: ignored, onExit: ignored, exit: ignored },
    finish: (code) => expect([code, text]).toEqual([0, text]),
    openDatabase,
    async openScratch() {
      const scratch = await openScratch()
      fast += 3_000
      return scratch
    },
  }
  await runCommandLine(
    {
      argv: args,
      cwd: project.folder,
      env: { ...inherited(), DATABASE_URL: undefined, TERM: 'xterm', NO_COLOR: '1' },
      startedAt: Date.now(),
      version: '0.0.0',
      stdin: new PassThrough() as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
      stderr: stderr as unknown as NodeJS.WriteStream,
      program: join(process.cwd(), 'package.json'),
      parent: undefined,
    },
    lifecycle,
  )
  return text
}

test('a command that runs migrations in a scratch database shows what it does there, and clears the bar', async () => {
  const text = await shown('migrate', 'plan')
  expect(text).toContain('\r\u001b[K[##########..........] 50 %  running the migrations in it, 0 s\r\u001b[K')
})

test('`access --verify` shows how many requests it has sent, and for which resource', async () => {
  const send = globalThis.fetch
  jest.spyOn(globalThis, 'fetch').mockImplementation((...request) => {
    fast += 3_000
    return send(...request)
  })
  expect(await shown('access', '--verify', '--config', 'access.yaml')).toMatch(
    /\r\u001b\[K\[#+\.+\] \d+ % {2}\d+ requests?, note\r\u001b\[K/,
  )
})

test('`dump` counts the records, if their number is wanted, and reports how many are written', async () => {
  const spec = specOf(BOOKS)
  const database = await openTestDatabase(ddlOf(spec))
  try {
    const text = `insert into books (title) select 'Book ' || n from generate_series(1, 500) n`
    await database.query({ text, values: [] })
    const seen: string[] = []
    const model = modelOf(spec, 'book')
    const onProgress = (records: number, total: number) => seen.push(`${records} of ${total}`)
    expect(await dump(database, { model, format: 'csv', write: async () => {}, onProgress })).toBe(500)
    expect(seen).toEqual(['100 of 500', '300 of 500', '500 of 500'])
  } finally {
    await database.close()
  }
})
