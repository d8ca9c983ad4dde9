import { type Blocker, describeBlocker, type MigrationProgress } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { createProgress, type Progress } from '../progress.js'

/** Reports of running migrations on stderr: a bar at a terminal, and a line for each wait for other sessions. */
interface Watching {
  readonly progress: Progress
  readonly onProgress: (progress: MigrationProgress) => void
  readonly onBlocked: (blockers: readonly Blocker[]) => void
}

export function watchMigrations(context: CliContext): Watching {
  const progress = createProgress(context, 1)
  return {
    progress,
    onProgress({ statement, of, index }) {
      const part = index?.part ?? 0
      const detail = [`statement ${statement} of ${of}`, ...(index ? [index.phase] : [])]
      progress.at((statement - 1 + part) / Math.max(of, 1), detail.join(', '))
    },
    onBlocked(blockers) {
      progress.end()
      const held = blockers.map(describeBlocker).join('; ') || 'another session'
      context.err.line(`waiting for a lock of ${held}; trying again`)
    },
  }
}
