import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A file that only its owner reads, and that is there as a whole or not at all: it is written beside its place. */
export interface WholeFile {
  write(data: string | Uint8Array): Promise<void>
  /** Puts it in its place. */
  finish(): Promise<void>
  /** Leaves nothing of it. */
  discard(): Promise<void>
}

/** @param part where it is written: a name that nothing has, in the folder of the file */
export async function openWhole(file: string, part = `${file}.${process.pid}.part`): Promise<WholeFile> {
  const handle = await open(part, 'wx', 0o600)
  return {
    write: (data) => handle.writeFile(data),
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(part, file)
    },
    async discard() {
      await handle.close().catch(() => undefined)
      await rm(part, { force: true })
    },
  }
}

/** Writes such a file at once, and makes its folder where there is none. */
export async function writeWhole(bytes: Uint8Array, file: string, part?: string): Promise<void> {
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
