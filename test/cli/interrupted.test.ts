import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  COMMAND,
  inherited,
  makeProject,
  runInHost,
} from '../support/cli.js'

test('Ctrl-C ends a command with 130, and leaves no incomplete file', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const { folder } = project
    expect(await runInHost(['migrate', 'up'], { cwd: folder })).toMatchObject({ code: 0 })
    const parts = async () => (await readdir(folder)).filter((name) => name.startsWith('books.csv'))
    const args = [COMMAND, 'dump', 'book', '--output', 'books.csv']
    const child = spawn(process.execPath, args, { cwd: folder, env: inherited() })
    const ended = once(child, 'exit')
    while (child.exitCode === null && (await parts()).length === 0) await delay(5)
    child.kill('SIGINT')
    expect(await ended).toEqual([130, null])
    expect(await parts()).toEqual([])
    expect(await runInHost(['dump', 'book', '--output', 'books.csv'], { cwd: folder })).toMatchObject({ code: 0 })
  } finally {
    await project.remove()
  }
})
