import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { renderTypes } from '../../src/index.js'
import { compareFile } from '../compare-file.js'
import { type CliContext, type CommonOptions, requireApplication, shownPath } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'

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

/** `types`: the file by which a compiler knows the records, bodies, lists and routes of the application. Opens no database. */
export function addTypes(program: Command, context: CliContext): void {
  program
    .command('types')
    .description('write the TypeScript types of records, bodies, lists and routes, for plugins')
    .option('--check', 'write nothing, and exit with 1 when the file says something else')
    .option('--out <file>', 'the file; .snippetctl/types.d.ts beside the configuration when left out')
    .addHelpText('after', EXAMPLES)
    .action(async (options: TypesOptions) => context.finish(await writeTypes(context, options)))
}

/** @throws Failure 1 when the file to check says something else, 2 when it cannot be read or written */
async function writeTypes(context: CliContext, { check, out, ...options }: TypesOptions): Promise<ExitCode> {
  const { app } = await requireApplication(context, options)
  const text = renderTypes(app)
  const file = out === undefined ? join(dirname(app.spec.file), '.snippetctl', 'types.d.ts') : resolve(context.cwd, out)
  const shown = shownPath(context, file)
  if (check) {
    const config = options.config === 'resources.yaml' ? '' : ` --config ${options.config}`
    const command = `snippetctl types${config}${out === undefined ? '' : ` --out ${out}`}`
    await compareFile(context, { file: shown, text, command })
    return 0
  }
  const isCurrent = (await readFile(file, 'utf8').catch(() => undefined)) === text
  if (!isCurrent) await write(file, text)
  context.err.line(isCurrent ? `${shown} is up to date` : `wrote ${shown}`)
  return 0
}

async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Failure(2, `cannot write the types: ${reason}`, ['name another file with `--out FILE`'], cause)
  }
}
