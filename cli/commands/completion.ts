import { type Command, Argument } from 'commander'
import type { CliContext } from '../context.js'
import { complete } from '../complete.js'
import { SHELLS } from '../shells.js'

const EXAMPLES = `
Examples:
  $ source <(snippetctl completion bash)                                      in ~/.bashrc
  $ source <(snippetctl completion zsh)                                       in ~/.zshrc, after compinit
  $ snippetctl completion fish > ~/.config/fish/completions/snippetctl.fish

The script gets its completions from the program, so an update needs no new script.`

/** `completion`: prints the script for a shell. The script calls `__complete`, a hidden command. */
export function addCompletion(program: Command, context: CliContext): void {
  program
    .command('completion')
    .description('print a script that completes commands, options, routes and codes in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', EXAMPLES)
    .action((shell: string) => {
      context.out.data(SHELLS[shell] ?? '')
      context.finish(0)
    })
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: readonly string[]) => {
      for (const { value, about } of await complete(context, program, words)) {
        context.out.data(`${value}\t${about}`)
      }
      context.finish(0)
    })
}
