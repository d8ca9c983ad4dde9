import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverUser } from '../test/support/servers.js'
import type { Postgres } from './postgres.js'
import { type Arena, Skipped } from './trial.js'

/** A PostgreSQL server whose tables are on a disk that can be filled up. Its log of changes is on another, as is usual. */
export interface SmallDisk {
  readonly postgres: Postgres
  /** Leaves nothing free. */
  fill(): void
  free(): void
}

const SIZE = '160m'

/** @throws Skipped where no disk can be mounted */
export async function makeSmallDisk(arena: Arena): Promise<SmallDisk> {
  if (process.getuid?.() !== 0) throw new Skipped('mounting a small disk needs root')
  const mount = mkdtempSync(join(tmpdir(), 'torture-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0777`, 'tmpfs', mount])
  arena.later(() => {
    execFileSync('umount', [mount])
    rmSync(mount, { recursive: true, force: true })
  })
  // Removed after the server, which writes there until it has stopped.
  const changes = mkdtempSync(join(tmpdir(), 'torture-wal-'))
  arena.later(() => rmSync(changes, { recursive: true, force: true }))
  const postgres = await arena.postgres({ parent: mount, settings: ['autovacuum=off', 'max_wal_size=64MB'] })
  moveChanges(postgres.data, changes)
  await postgres.start()
  const filler = join(mount, 'filler')
  return {
    postgres,
    fill: () => {
      const { bavail, bsize } = statfsSync(mount)
      writeFileSync(filler, Buffer.alloc(bavail * bsize - 256 * 1024))
    },
    free: () => rmSync(filler, { force: true }),
  }
}

function moveChanges(data: string, to: string): void {
  const owner = serverUser()
  execFileSync('cp', ['-a', join(data, 'pg_wal'), join(to, 'pg_wal')])
  rmSync(join(data, 'pg_wal'), { recursive: true })
  symlinkSync(join(to, 'pg_wal'), join(data, 'pg_wal'))
  chmodSync(to, 0o700)
  if (owner) chownSync(to, owner.uid, owner.gid)
}
