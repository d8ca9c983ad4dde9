import { pbkdf2 } from 'node:crypto'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { removeAtExit } from '../src/internal.js'

/** Enough that their removal takes longer than the work of the threads. */
const FILES = 3_000
/** Of libuv. */
const THREADS = 4

test('a folder is removed although a thread makes something in it during the removal', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'removed-'))
  const remove = removeAtExit(folder)
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(folder, `${at}`), '')
  // Keeps the threads busy until the files of the folder have been listed.
  for (let thread = 0; thread < THREADS; thread += 1) pbkdf2('', '', 30_000, 32, 'sha256', () => {})
  const late = mkdir(join(folder, 'late')).catch(() => {})
  remove()
  await late
  expect(existsSync(folder)).toBe(false)
})
