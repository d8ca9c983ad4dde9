import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { CliContext } from '../../cli/context.js'
import { createRateText, createStages } from '../../cli/progress.js'
import { INTROSPECT_STAGES, introspect, RESTORE_STAGES, restoreEmbedded } from '../../src/internal.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runInHost } from '../support/cli.js'
import { openTestDatabase } from '../support/database.js'

describe('the bar of work with stages', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  const start = ({ terminal = true, width = 80, env = {} } = {}) => {
    const written: string[] = []
    const err = { terminal, width, lossy: { write: (text: string) => written.push(text) } }
    return { written, stages: createStages({ err, env } as unknown as CliContext, 3) }
  }

  test('shows the stage and its time, once the work has taken two seconds', () => {
    const { written, stages } = start()
    stages.next('opening')
    jest.advanceTimersByTime(1_500)
    expect(written).toEqual([])
    stages.next('packing')
    jest.advanceTimersByTime(3_000)
    expect(written.at(-1)).toBe('\r\u001b[K[#######.............] 33 %  packing, 2 s')
    stages.end()
    expect(written.at(-1)).toBe('\r\u001b[K')
    const shown = written.length
    jest.advanceTimersByTime(5_000)
    expect(written).toHaveLength(shown)
  })

  test.each([
    [40, '[###.......] 33 %  counting the rows o…'],
    [200, '[##########....................] 33 %  counting the rows of every table, 3 s'],
  ])('fits in a terminal of %i columns', (width, bar) => {
    const { written, stages } = start({ width })
    stages.next('opening')
    stages.next('counting the rows of every table')
    jest.advanceTimersByTime(3_000)
    expect(written.at(-1)).toBe(`\r\u001b[K${bar}`)
    expect(bar.length).toBeLessThan(width)
    stages.end()
  })

  test.each([
    ['where stderr is not a terminal', { terminal: false }],
    ['at a terminal that cannot clear a line', { env: { TERM: 'dumb' } }],
  ])('is not shown %s', (_where, terminal) => {
    const { written, stages } = start(terminal)
    stages.next('opening')
    jest.advanceTimersByTime(10_000)
    stages.end()
    expect(written).toEqual([])
  })
})

test('the pace of records has their rate and the time that is left', () => {
  jest.useFakeTimers()
  try {
    const pace = createRateText(1_000)
    expect(pace(0, 0)).toBe('0 records')
    jest.advanceTimersByTime(4_000)
    expect(pace(250, 1)).toBe('1 record, 0/s, 12 s left')
    expect(pace(10, 8_000)).toBe('8000 records, 2000/s, 7 min left')
    expect(pace(1_000, 8_000)).toBe('8000 records, 2000/s, 0 s left')
  } finally {
    jest.useRealTimers()
  }
})

describe('the stages', () => {
  let project: Project
  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  })
  afterEach(() => project.remove())

  test('of a restore are reported in order', async () => {
    const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    expect(await run('db', 'backup', 'before.tar.gz')).toMatchObject({ code: 0 })
    const seen: string[] = []
    const folder = join(project.folder, '.snippetctl', 'pg')
    await restoreEmbedded(folder, join(project.folder, 'before.tar.gz'), (stage) => seen.push(stage))
    expect(seen).toEqual(['reading the backup', 'unpacking', 'counting rows'])
    expect(seen).toHaveLength(RESTORE_STAGES)
  })

  test.each([
    [false, ['reading the tables', 'writing the models', 'checking the configuration']],
    [true, ['reading the tables', 'replaying the migrations', 'planning, to see that nothing is left']],
  ])('of an introspection are reported in order, with --manage: %s', async (manage, expected) => {
    const database = await openTestDatabase('create table shelves (id serial primary key)')
    try {
      const seen: string[] = []
      const directory = join(project.folder, 'none')
      await introspect(database, { file: 'x.yaml', directory, manage, onStage: (stage) => seen.push(stage) })
      expect(seen).toEqual(expected)
      expect(seen).toHaveLength(INTROSPECT_STAGES)
    } finally {
      await database.close()
    }
  })
})
