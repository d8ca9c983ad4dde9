import type { Command } from 'commander'
import { addAddResource } from '../project/add-resource.js'
import type { CliContext } from '../context.js'

/** `add`: adds to the configuration. */
export function addAdd(program: Command, context: CliContext): void {
  const add = program.command('add').description('write into the configuration').helpCommand(false)
  addAddResource(add, context)
  add.addHelpText('after', '\nExamples:\n  $ snippetctl add resource author name:string! born:date')
}
