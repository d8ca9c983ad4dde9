import type { Command } from 'commander'
import type { CliContext } from '../context.js'
import { addDbBackup, addDbRestore } from '../database/db-backup.js'
import { addDbCopy } from '../database/db-copy.js'
import { addDbReset } from '../database/db-reset.js'

const PARTS: readonly ((db: Command, context: CliContext) => void)[] = [
  addDbReset,
  addDbCopy,
  addDbBackup,
  addDbRestore,
]

/** `db`: commands for a database as a whole. */
export function addDb(program: Command, context: CliContext): void {
  const db = program.command('db').description('reset, copy, back up or restore the database').helpCommand(false)
  for (const add of PARTS) add(db, context)
  db.addHelpText(
    'after',
    '\nExamples:\n  $ snippetctl db copy --to postgres://app@db/app\n  $ snippetctl db backup before.tar.gz',
  )
}
