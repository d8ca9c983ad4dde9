import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ofFile, removeAtExit, targetOf } from '../../src/internal.js'

/**
 * A file that is written next to its final path and renamed, so that it is never incomplete. Only its owner can read it. A pipe or a device is
 * written to as it is.
 */
export interface WholeFile {
  write(data: string | Uint8Array): Promise<void>
  /** Moves the file to its final path. */
  finish(): Promise<void>
  /** Deletes the incomplete file. */
  discard(): Promise<void>
}

/** @param part the temporary path: an unused name in the folder of the file */
export async function openWhole(file: string, part?: string): Promise<WholeFile> {
  const { target, old } = await targetOf(file)
  return old && !old.isFile() ? openInPlace(file) : openDraft(target, part ?? `${target}.${randomUUID()}.part`)
}

async function openInPlace(file: string): Promise<WholeFile> {
  const handle = await open(file, 'w')
  const close = () => handle.close()
  return { write: (data) => writeTo(handle, data, file), finish: close, discard: close }
}

async function openDraft(file: string, part: string): Promise<WholeFile> {
  const handle = await open(part, 'wx', 0o600)
  const removePart = removeAtExit(part)
  return {
    write: (data) => writeTo(handle, data, file),
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(part, file).catch((error: unknown) => {
        throw ofFile(error, file)
      })
      removePart()
    },
    async discard() {
      await handle.close().catch(() => undefined)
      removePart()
    },
  }
}

function writeTo(handle: FileHandle, data: string | Uint8Array, file: string): Promise<void> {
  return handle.writeFile(data).catch((error: unknown) => {
    throw ofFile(error, file)
  })
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
