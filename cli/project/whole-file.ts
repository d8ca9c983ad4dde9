import { randomUUID } from 'node:crypto'
import { constants, writeFileSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { naming, removeAtExit, targetOf } from '../../src/internal.js'

/**
 * A file that is written in pieces next to its final path and then renamed, so that it is never incomplete. Unlike the files of `writeWhole`, only its
 * owner can read it, and no incomplete file stays after Ctrl-C. Pipes and devices are written to directly.
 */
export interface WholeFile {
  write(data: string | Uint8Array): Promise<void>
  /** Moves the file to its final path. */
  finish(): Promise<void>
  /** Deletes the incomplete file. */
  discard(): Promise<void>
}

const READER_CHECK_INTERVAL_MS = 50

/** @param part the temporary path: an unused name in the folder of the file */
export async function openWhole(file: string, part?: string): Promise<WholeFile> {
  const { target, old, isStream } = await targetOf(file)
  const opened = await naming(file, async () => {
    if (old?.isFIFO() === true) return toStream(await openPipe(file))
    return isStream ? toStream(await open(file, 'a')) : openDraft(target, part ?? `${target}.${randomUUID()}.part`)
  })
  return {
    write: (data) => naming(file, () => opened.write(data)),
    finish: () => naming(file, opened.finish),
    discard: opened.discard,
  }
}

/** Waits until the pipe has a reader. An `open` that waits by itself would keep Ctrl-C from ending the process. */
async function openPipe(file: string): Promise<FileHandle> {
  for (;;) {
    const probe = await open(file, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENXIO') throw error
    })
    // The reader sees an end if no writer is left in between.
    if (probe) return open(file, 'w').finally(() => probe.close())
    await delay(READER_CHECK_INTERVAL_MS)
  }
}

function toStream(handle: FileHandle): WholeFile {
  const close = () => handle.close()
  return { write: (data) => handle.writeFile(data), finish: close, discard: close }
}

async function openDraft(file: string, part: string): Promise<WholeFile> {
  // In one turn: a signal comes before or after both.
  writeFileSync(part, '', { flag: 'wx', mode: 0o600 })
  const removePart = removeAtExit(part)
  const handle = await open(part, 'r+').catch((error: unknown) => {
    removePart()
    throw error
  })
  return {
    write: (data) => handle.writeFile(data),
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(part, file)
      removePart()
    },
    async discard() {
      await handle.close().catch(() => undefined)
      removePart()
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
