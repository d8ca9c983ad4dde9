import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { type CliContext, shownPath } from '../context.js'
import { Failure } from '../failure.js'

/**
 * Reads the text of a configuration, for a command that changes it.
 * @throws Failure 2 if it is not UTF-8: other characters would be lost when it is written
 */
export async function readConfigText(context: CliContext, file: string): Promise<string> {
  const bytes = await readFile(file)
  if (!isUtf8(bytes)) throw new Failure(2, `${shownPath(context, file)} is not UTF-8`, ['save the file as UTF-8'])
  return bytes.toString()
}
