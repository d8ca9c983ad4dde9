import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'

/** Writes a file under another name and renames it: a reader finds the old content or the new, never a part. */
export async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, content)
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}
