import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { HOME } from '../bench/contestants.js'

/** What is not copied: large folders, and folders that belong to this checkout alone. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.snippetctl', '.git', 'coverage'])

/** Copies the sources to a new temporary folder, as if they were cloned there. */
export function copyCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'torture-checkout-'))
  cpSync(HOME, folder, { recursive: true, filter: (path) => path === HOME || !LEFT_OUT.has(basename(path)) })
  return folder
}
