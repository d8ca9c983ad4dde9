import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CliContext } from '../context.js'
import { Failure, whyUnreadable } from '../failure.js'

interface Comparison {
  /** The path for messages. */
  readonly file: string
  /** The expected text. */
  readonly text: string
  /** The command that writes it. */
  readonly command: string
}

/**
 * Compares a generated file with its expected text, ignoring line endings.
 * @throws Failure 1 with the first different line, 2 if the file cannot be read
 */
export async function compareFile({ cwd, err }: CliContext, { file, text, command }: Comparison): Promise<void> {
  const kept = await readFile(resolve(cwd, file), 'utf8').catch((cause: Error) => {
    throw new Failure(2, `cannot read \`${file}\`: ${whyUnreadable(cause)}`, [`write it: ${command}`], cause)
  })
  const [old, now] = [linesOf(kept), linesOf(text)]
  const at = Array.from({ length: Math.max(old.length, now.length) }).findIndex((_, line) => old[line] !== now[line])
  if (at < 0) return err.line(`${file} is up to date`)
  throw new Failure(1, `\`${file}\` is out of date from line ${at + 1} on`, [`write it again: ${command}`])
}

function linesOf(text: string): readonly string[] {
  return text.replaceAll('\r\n', '\n').split('\n')
}
