import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'
import { ofFile } from '../../src/internal.js'

/** A file that is written next to its final path and renamed, so that it is never incomplete. Only its owner can read it. */
export interface WholeFile {
  write(data: string | Uint8Array): Promise<void>
  /** Moves the file to its final path. */
  finish(): Promise<void>
  /** Deletes the incomplete file. */
  discard(): Promise<void>
}

/** @param part the temporary path: an unused name in the folder of the file */
export async function openWhole(file: string, part = `${file}.${randomUUID()}.part`): Promise<WholeFile> {
  const handle = await open(part, 'wx', 0o600)
  const removePart = () => rmSync(part, { force: true })
  process.on('exit', removePart)
  const fail = (error: unknown) => {
    throw ofFile(error, file)
  }
  return {
    write: (data) => handle.writeFile(data).catch(fail),
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(part, file).catch(fail)
      process.off('exit', removePart)
    },
    async discard() {
      await handle.close().catch(() => undefined)
      removePart()
      process.off('exit', removePart)
    },
  }
}

/** Writes such a file at once, creating its folder if needed. */
export async function writePrivate(file: string, bytes: Uint8Array, part?: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const whole = await openWhole(file, part)
  try {
    await whole.write(bytes)
    await whole.finish()
  } catch (error) {
    await whole.discard()
    throw error
  }
}
