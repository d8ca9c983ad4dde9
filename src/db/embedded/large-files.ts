import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Larger files are moved to a disk. Most tables of a scratch database are empty, but a migration may insert millions of rows. */
const MAX_BYTES_IN_MEMORY = 4 * 1024 * 1024

/** A file of Emscripten's file system in memory. */
interface File {
  contents: Uint8Array
  usedBytes: number
  mtime: number
  ctime: number
}

type Transfer = (stream: { readonly node: File }, ...area: Area) => number
type Area = readonly [buffer: Uint8Array, offset: number, length: number, position: number, canOwn?: boolean]

/** The parts of Emscripten's file systems that are used here; all files in memory share the operations. */
interface FileSystems {
  readonly ErrnoError: new (code: number) => Error
  readonly streams: readonly ({ readonly node: File } | undefined)[]
  readonly filesystems: {
    readonly MEMFS: {
      readonly ops_table: {
        readonly dir: {
          readonly node: { unlink(folder: { readonly contents: Readonly<Record<string, File>> }, name: string): void }
        }
        readonly file: {
          readonly node: { setattr(node: File, attributes: { readonly size?: number }): void }
          readonly stream: { read: Transfer; write: Transfer }
        }
      }
    }
    readonly NODEFS: { convertNodeCode(error: unknown): number }
  }
}

/**
 * Moves each file in memory that becomes large into a temporary file, until it is emptied or removed. The temporary files have no
 * names, so the system removes them when this process ends. If none can be created or the disk is full, the files stay in memory.
 * @returns a function that closes the temporary files
 */
export function moveLargeFiles(fileSystem: unknown): () => void {
  const { ErrnoError, filesystems, streams: open } = fileSystem as FileSystems
  const { file, dir } = filesystems.MEMFS.ops_table
  const { node: nodes, stream: streams } = file
  const [{ setattr }, { read, write }, { unlink }] = [nodes, streams, dir.node]
  const moved = new Map<File, number>()
  const onDisk = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw new ErrnoError(filesystems.NODEFS.convertNodeCode(error))
    }
  }
  /** Whether a disk has rejected bytes, because it is full or limits the size of files. Later files then stay in memory. */
  let isFull = false
  const hasWritten = (descriptor: number, bytes: Uint8Array, position: number): boolean => {
    try {
      writeAll(descriptor, bytes, position)
      return true
    } catch {
      isFull = true
      return false
    }
  }
  const move = (node: File): number | undefined => {
    const descriptor = isFull ? undefined : openUnnamed()
    if (descriptor === undefined) return undefined
    if (!hasWritten(descriptor, node.contents.subarray(0, node.usedBytes), 0)) {
      closeSync(descriptor)
      return undefined
    }
    moved.set(node, descriptor)
    node.contents = new Uint8Array()
    return descriptor
  }
  const discard = (node: File) => {
    const descriptor = moved.get(node)
    if (descriptor === undefined) return
    moved.delete(node)
    closeSync(descriptor)
  }
  const moveBack = (node: File, descriptor: number) => {
    const bytes = new Uint8Array(node.usedBytes)
    onDisk(() => readAll(descriptor, bytes))
    discard(node)
    node.contents = bytes
  }

  streams.read = (stream, ...area) => {
    const { node } = stream
    const descriptor = moved.get(node)
    if (descriptor === undefined) return read(stream, ...area)
    const [buffer, offset, length, position] = area
    return onDisk(() => readSync(descriptor, bytesOf(buffer, offset, length), 0, length, position))
  }
  streams.write = (stream, ...area) => {
    const { node } = stream
    const [buffer, offset, length, position] = area
    const end = position + length
    const descriptor = moved.get(node) ?? (end > MAX_BYTES_IN_MEMORY ? move(node) : undefined)
    if (descriptor === undefined) return write(stream, ...area)
    if (!hasWritten(descriptor, bytesOf(buffer, offset, length), position)) {
      moveBack(node, descriptor)
      return write(stream, ...area)
    }
    node.usedBytes = Math.max(node.usedBytes, end)
    node.mtime = node.ctime = Date.now()
    return length
  }
  nodes.setattr = (node, attributes) => {
    const { size, ...others } = attributes
    const descriptor = size === undefined ? undefined : moved.get(node)
    if (size === undefined || descriptor === undefined) return setattr(node, attributes)
    setattr(node, others)
    if (size > 0) onDisk(() => ftruncateSync(descriptor, size))
    else discard(node)
    node.usedBytes = size
  }
  dir.node.unlink = (folder, name) => {
    const node = folder.contents[name]
    unlink(folder, name)
    if (node !== undefined && !open.some((stream) => stream?.node === node)) discard(node)
  }

  return () => {
    for (const node of moved.keys()) discard(node)
  }
}

/** Opens a temporary file and removes its name. Returns undefined if the folder for temporary files is not writable. */
function openUnnamed(): number | undefined {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'snippetctl-file-'))
    try {
      return openSync(join(folder, 'file'), 'wx+', 0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  } catch {
    return undefined
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done)
  }
}

function readAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(descriptor, bytes, done, bytes.length - done, done)
    if (count === 0) return
    done += count
  }
}

/** The given buffer may have items of another size or a growing memory, which Node.js does not accept. */
function bytesOf({ buffer, byteOffset }: Uint8Array, offset: number, length: number): Uint8Array {
  return new Uint8Array(buffer, byteOffset + offset, length)
}
