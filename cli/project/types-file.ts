import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AppSpec, renderTypes, writeWhole } from '../../src/internal.js'
import type { Application } from '../context.js'

/** The default file for the types of an application. */
export function typesFile({ file }: Pick<AppSpec, 'file'>): string {
  return join(dirname(file), '.snippetctl', 'types.d.ts')
}

/**
 * Writes the types of an application, creating the folder if needed.
 * @returns whether the file changed
 */
export async function writeTypes(file: string, text: string): Promise<boolean> {
  if ((await readTypes(file)) === text) return false
  await mkdir(dirname(file), { recursive: true })
  await writeWhole(file, text)
  return true
}

/**
 * Updates the types if the file exists.
 * @returns a short text for the log, or nothing if nothing changed
 */
export async function refreshTypes({ app, spec }: Pick<Application, 'app' | 'spec'>): Promise<readonly string[]> {
  const file = typesFile(spec)
  if ((await readTypes(file)) === undefined) return []
  // A file that cannot be written must not keep the server from running.
  const isWritten = await writeTypes(file, renderTypes(app)).catch(() => false)
  return isWritten ? ['types written'] : []
}

function readTypes(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}
