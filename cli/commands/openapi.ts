import { type Command, Option } from 'commander'
import { OPENAPI_VERSIONS, type OpenApiVersion, renderOpenApi, shellWord } from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireApplication } from '../context.js'
import type { ExitCode } from '../failure.js'
import { compareFile } from '../project/compare-file.js'

interface OpenApiOptions extends CommonOptions {
  readonly version: OpenApiVersion
  readonly check?: string
}

const EXAMPLES = `
Examples:
  $ snippetctl openapi > openapi.json
  $ snippetctl openapi --check openapi.json
  $ snippetctl openapi --version 3.0 > openapi-3.0.json`

/** `openapi`: prints the document that a service has at /openapi.json. Opens no database. */
export function addOpenApi(program: Command, context: CliContext): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of every route, hand-written ones too')
    .addOption(
      new Option('--version <version>', 'of OpenAPI; 3.0 is for tools that cannot read 3.1')
        .choices(OPENAPI_VERSIONS)
        .default('3.1'),
    )
    .option('--check <file>', 'print nothing, and exit with 1 if the file differs')
    .addHelpText('after', EXAMPLES)
    .action(async (options: OpenApiOptions) => context.finish(await printOpenApi(context, options)))
}

/** @throws Failure 1 if the checked file is out of date, 2 if it cannot be read */
async function printOpenApi(context: CliContext, { check, version, ...options }: OpenApiOptions): Promise<ExitCode> {
  const { app } = await requireApplication(context, options)
  const text = renderOpenApi(app, version)
  if (check === undefined) {
    await context.out.write(text)
    return 0
  }
  const flag = version === '3.1' ? '' : ` --version ${version}`
  await compareFile(context, {
    file: check,
    text,
    command: `snippetctl openapi${flag} > ${shellWord(check)}`,
  })
  return 0
}
