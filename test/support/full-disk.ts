/** Limits the size of a command's files. A limit that is not a multiple of a page makes the last write a short one, like a full disk. */
export function withFullDisk(command: readonly string[], fullAt?: number): [string, ...string[]] {
  const blocks = fullAt === undefined ? 'unlimited' : String(Math.floor(fullAt / 512) | 1)
  return ['sh', '-c', 'ulimit -f "$0" && exec "$@"', blocks, ...command]
}
