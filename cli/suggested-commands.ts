import type { Command } from 'commander'
import { shellWord } from '../src/internal.js'

/** A command for the user to run. In backticks, it is a name instead: a file that `snippetctl db backup` wrote. */
const SUGGESTED = /(?<![\w`./-])snippetctl((?: [a-z]+)+)(?! --config)/g

/**
 * Completes the commands in a text for people with the configuration of the running command, so that they act on the same project. Commands that
 * have no `--config` stay as they are.
 */
export function completeCommands(text: string, running: Command): string {
  const flag = configFlag(running)
  if (flag === '') return text
  return text.replaceAll(SUGGESTED, (suggested: string, words: string) => {
    const { command, path } = findCommand(running, words.slice(1).split(' '))
    return hasConfig(command) ? suggested.replace(path, () => path + flag) : suggested
  })
}

/** Empty if neither an option nor the environment names the file. */
function configFlag(running: Command): string {
  const { config } = running.opts<{ readonly config?: string }>()
  if (config === undefined || running.getOptionValueSource('config') === 'default') return ''
  return ` --config ${shellWord(config)}`
}

/** Follows the words as far as they name commands. */
function findCommand(running: Command, words: readonly string[]): { readonly command: Command; readonly path: string } {
  let command = running
  while (command.parent) command = command.parent
  let path = command.name()
  for (const word of words) {
    const child = command.commands.find((each) => each.name() === word)
    if (child === undefined) break
    command = child
    path += ` ${word}`
  }
  return { command, path }
}

function hasConfig({ options }: Command): boolean {
  return options.some(({ long }) => long === '--config')
}
