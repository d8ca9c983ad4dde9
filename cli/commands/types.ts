import { resolve } from 'node:path'
import type { Command } from 'commander'
import { renderTypes, shellWord } from '../../src/internal.js'
import { compareFile } from '../project/compare-file.js'
import { type CliContext, type CommonOptions, requireApplication, shownPath } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { typesFile, writeTypes } from '../project/types-file.js'

interface TypesOptions extends CommonOptions {
  readonly check?: true
  readonly out?: string
}

const EXAMPLES = `
Examples:
  $ snippetctl types
  $ snippetctl types --out src/api-types.d.ts
  $ snippetctl types --check

The file goes into the "include" of tsconfig.json: ["plugins", ".snippetctl/types.d.ts"]`

/** `types`: writes TypeScript types of the records, bodies, lists and routes of the application. Opens no database. */
export function addTypes(program: Command, context: CliContext): void {
  program
    .command('types')
    .description('write the TypeScript types of records, bodies, lists and routes, for plugins')
    .option('--check', 'write nothing, and exit with 1 if the file is stale')
    .option('--out <file>', 'the file; by default .snippetctl/types.d.ts next to the configuration')
    .addHelpText('after', EXAMPLES)
    .action(async (options: TypesOptions) => context.finish(await printTypes(context, options)))
}

/** @throws Failure 1 if the checked file is out of date, 2 if it cannot be read or written */
async function printTypes(context: CliContext, { check, out, ...options }: TypesOptions): Promise<ExitCode> {
  const { app } = await requireApplication(context, options)
  const text = renderTypes(app)
  const file = out === undefined ? typesFile(app.spec) : resolve(context.cwd, out)
  const shown = shownPath(context, file)
  if (check) {
    const command = `snippetctl types${out === undefined ? '' : ` --out ${shellWord(out)}`}`
    await compareFile(context, { file: shown, text, command })
    return 0
  }
  const isWritten = await writeTypes(file, text).catch((cause: Error) => {
    throw new Failure(2, `cannot write the types: ${cause.message}`, ['name another file with `--out FILE`'], cause)
  })
  context.err.line(isWritten ? `wrote ${shown}` : `${shown} is up to date`)
  return 0
}
