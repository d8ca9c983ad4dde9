import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CliContext } from '../context.js'
import { Failure } from '../failure.js'

interface Comparison {
  /** As people wrote it. */
  readonly file: string
  /** What it ought to hold. */
  readonly text: string
  /** What writes it. */
  readonly command: string
}

/**
 * Holds a file that was generated and kept against what it would be now; ends of lines do not count.
 * @throws Failure 1 when it holds something else, naming the first line that differs, and 2 when it cannot be read
 */
export async function compareFile({ cwd, err }: CliContext, { file, text, command }: Comparison): Promise<void> {
  const kept = await readFile(resolve(cwd, file), 'utf8').catch((cause: Error) => {
    const isMissing = 'code' in cause && cause.code === 'ENOENT'
    throw new Failure(
      2,
      `cannot read \`${file}\`: ${isMissing ? 'there is no such file' : cause.message}`,
      [`write it with \`${command}\``],
      cause,
    )
  })
  const [old, now] = [kept, text].map((each) => each.replaceAll('\r\n', '\n').split('\n'))
  const line = now?.findIndex((each, at) => each !== old?.[at]) ?? -1
  if (line < 0 && old?.length === now?.length) return err.line(`${file} is up to date`)
  const at = line < 0 ? (now?.length ?? 0) : line
  throw new Failure(1, `\`${file}\` is out of date from line ${at + 1} on`, [`write it anew with \`${command}\``])
}
