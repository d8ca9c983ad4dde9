import type { Command } from 'commander'

type HelpFor = (options: Readonly<Record<string, unknown>>) => readonly string[]

const declared = new WeakMap<Command, HelpFor>()

/**
 * Sets the help that a command prints if it loses its connection, when its last change may or may not have been made. Returns the command.
 * @param help may depend on the options of the command
 */
export function withLostConnectionHelp(command: Command, help: readonly string[] | HelpFor): Command {
  declared.set(command, typeof help === 'function' ? help : () => help)
  return command
}

/** For commands that do not change the database. */
export const READING_HELP = ['run it again: it does not change the database']

/** Declares that a command does not change the database. Returns the command. */
export function readsOnly(command: Command): Command {
  return withLostConnectionHelp(command, READING_HELP)
}

/** Returns the help for a command that lost its connection. */
export function lostConnectionHelp(command: Command | undefined): readonly string[] {
  return (
    (command && declared.get(command)?.(command.opts())) ?? [
      'find out whether the last change was made before you run it again',
    ]
  )
}

/** For commands that run migrations or correct their journal. */
export const MIGRATION_HELP = [
  'find out whether the last change was made before you run it again',
  'see which migrations were applied: snippetctl migrate status',
]
