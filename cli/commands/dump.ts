import { extname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import {
  type AppSpec,
  dump as write,
  DUMP_FORMATS,
  type DumpFormatName,
  isStandardOutput,
  modelOf,
  UnreadableData,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec, shownPath } from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import { type ExitCode, Failure } from '../failure.js'
import { count } from '../output.js'
import { createRateText, createProgress, type Progress } from '../progress.js'
import { requireSchema } from '../serve/schema.js'
import { openWhole, type WholeFile } from '../project/whole-file.js'
import { readsOnly } from '../lost-connection.js'

interface DumpOptions extends CommonOptions {
  readonly format?: DumpFormatName
  readonly output?: string
}

const EXAMPLES = `
Examples:
  $ snippetctl dump snippet > snippet.ndjson
  $ snippetctl dump snippet --output snippet.csv
  $ snippetctl dump snippet --format csv | head`

/** `dump`: writes all records of a resource with all fields, in a format that `seed` reads. */
export function addDump(program: Command, context: CliContext): void {
  readsOnly(program.command('dump'))
    .description('write a snapshot of all records of a resource, with private fields, in the order of their keys')
    .argument(
      '<resource>',
      'the name of a resource or a model; `model:NAME` for a model whose name another resource has',
    )
    .addOption(
      new Option(
        '--format <format>',
        'output format; by default, the extension of --output decides, else ndjson',
      ).choices(DUMP_FORMATS),
    )
    .option('--output <file>', 'write to this file instead of stdout, once it is complete')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, options: DumpOptions) => context.finish(await dump(context, name, options)))
}

/** @throws Failure 2 if the name is unknown, or the database does not have the schema of the configuration */
async function dump(context: CliContext, name: string, options: DumpOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const model = findModel(spec, name)
  const format = options.format ?? extensionFormat(options.output) ?? 'ndjson'
  const sink = await openSink(context, options.output)
  const watch = watchDump(context, options)
  try {
    const records = await onExistingDatabase(context, spec, async (database, migrations) => {
      await requireSchema(spec, database, migrations)
      return write(database, { model, format, write: sink.write, onProgress: watch?.onProgress })
    }).finally(() => watch?.end())
    await sink.finish()
    if (options.output !== undefined) {
      const file = shownPath(context, resolve(context.cwd, options.output))
      const as = extensionFormat(options.output) === format ? '' : `, as ${format}`
      context.err.line(`wrote ${count(records, 'record')} to ${file}${as}`)
    }
    return 0
  } catch (error) {
    await sink.discard()
    if (error instanceof ReaderGone) return 0
    throw error
  }
}

/** A bar at the terminal, unless the records are shown there. */
function watchDump(context: CliContext, { output }: DumpOptions) {
  if (!context.err.terminal || (output === undefined && context.out.terminal)) return undefined
  let bar: { readonly progress: Progress; readonly pace: ReturnType<typeof createRateText> } | undefined
  return {
    onProgress(records: number, total: number) {
      bar ??= { progress: createProgress(context, total), pace: createRateText(total) }
      bar.progress.at(records, bar.pace(records, records))
    },
    end: () => bar?.progress.end(),
  }
}

function findModel(spec: AppSpec, name: string) {
  try {
    return modelOf(spec, name)
  } catch (error) {
    if (error instanceof UnreadableData) throw new Failure(2, error.message)
    throw error
  }
}

/** The format that the extension of a file names; undefined if it names none. */
function extensionFormat(output = ''): DumpFormatName | undefined {
  return DUMP_FORMATS.find((format) => extname(output).toLowerCase() === `.${format}`)
}

type Sink = Pick<WholeFile, 'finish' | 'discard'> & { readonly write: (text: string) => Promise<void> }

/** Thrown when the reader of stdout has closed the pipe, as `head` does. */
class ReaderGone extends Error {}

async function openSink({ out, cwd }: CliContext, output: string | undefined): Promise<Sink> {
  if (output !== undefined && !isStandardOutput(output)) return openWhole(resolve(cwd, output))
  const nothing = async () => {}
  const write = async (text: string) => {
    if (!(await out.write(text))) throw new ReaderGone()
  }
  return { write, finish: nothing, discard: nothing }
}
