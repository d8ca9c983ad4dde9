import type { Command } from 'commander'

const declared = new WeakMap<Command, readonly string[]>()

/** Sets the help that a command prints if it loses its connection, when its last change may or may not have been made. Returns the command. */
export function withLostConnectionHelp(command: Command, help: readonly string[]): Command {
  declared.set(command, help)
  return command
}

/** Declares that a command does not change the database. Returns the command. */
export function readsOnly(command: Command): Command {
  return withLostConnectionHelp(command, ['run it again: it does not change the database'])
}

/** Returns the help for a command that lost its connection. */
export function lostConnectionHelp(command: Command | undefined): readonly string[] {
  return (command && declared.get(command)) ?? ['find out whether the last change was made before you run it again']
}

/** For commands that run migrations or correct their journal. */
export const MIGRATION_HELP = [
  'find out whether the last change was made before you run it again',
  'see which migrations were applied: snippetctl migrate status',
]
