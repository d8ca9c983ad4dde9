import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AppSpec, renderTypes } from '../../src/internal.js'
import type { Application } from '../context.js'

/** Where the types of an application are, unless somebody names another file. */
export function typesFile({ file }: Pick<AppSpec, 'file'>): string {
  return join(dirname(file), '.snippetctl', 'types.d.ts')
}

/**
 * Writes the types of an application, and its folder where there is none.
 * @returns whether the file said something else
 */
export async function writeTypes(file: string, text: string): Promise<boolean> {
  if ((await readTypes(file)) === text) return false
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  return true
}

/**
 * Writes the types anew where somebody has had them written before.
 * @returns what was done, in a few words; nothing where there was nothing to do
 */
export async function refreshTypes({ app, spec }: Pick<Application, 'app' | 'spec'>): Promise<readonly string[]> {
  const file = typesFile(spec)
  if ((await readTypes(file)) === undefined) return []
  // Who serves has other worries than a file that nobody may write.
  const isWritten = await writeTypes(file, renderTypes(app)).catch(() => false)
  return isWritten ? ['types written'] : []
}

function readTypes(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}
