import type { Command } from 'commander'
import {
  type AppSpec,
  checkConfig,
  declareResource,
  type Diagnostic,
  readConfig,
  formatResource,
  type UndeclaredResource,
  writeWhole,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec, shownPath } from '../context.js'
import { printFrames } from '../diagnostics.js'
import { type ExitCode, Failure, Finished } from '../failure.js'
import { readConfigText } from './config-text.js'
import { readField, requireName } from './field-words.js'
import { count } from '../output.js'

interface AddOptions extends CommonOptions {
  readonly path?: string
  readonly dryRun?: true
  readonly json?: true
}

interface AddedLine {
  readonly line: number
  readonly text: string
}

const EXAMPLES = `
Examples:
  $ snippetctl add resource author name:string! born:date
  $ snippetctl add resource book title:string! author:belongs_to=author! state:choice=draft,printed
  $ snippetctl add resource book title:string! --dry-run

A field is NAME:TYPE; \`!\` makes it required, otherwise it may be null. Options of the type follow \`=\`:
the model of belongs_to, the choices of choice, precision and scale of decimal.`

/** `add resource`: appends a model and its resource to the configuration, and keeps comments and order. */
export function addAddResource(add: Command, context: CliContext): void {
  add
    .command('resource')
    .description('add a model and its resource to the configuration')
    .argument('<name>', 'the name of both: singular, in lower case')
    .argument('[name:type...]', 'a field; `id` is always there')
    .option('--path <path>', 'its path, below the prefix; by default, the plural of the name')
    .option('--dry-run', 'print the lines, and write nothing')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, fields: readonly string[], options: AddOptions) =>
      context.finish(await addResource(context, { name, fields, options })),
    )
}

interface NewResource {
  readonly name: string
  readonly fields: readonly string[]
  readonly options: AddOptions
}

async function addResource(context: CliContext, { name, fields, options }: NewResource): Promise<ExitCode> {
  const resource = parseResource(name, fields, options)
  const spec = await requireSpec(context, options)
  rejectTaken(spec, name)
  const text = await readConfigText(context, spec.file)
  const file = shownPath(context, spec.file)
  const edited = declareResource(text, file, resource)
  if (edited === undefined) throw byHand(file, resource)
  requireValid(context, file, edited)
  if (!options.dryRun) await writeWhole(spec.file, edited)
  report(context, options, {
    file,
    added: addedLines(text, edited),
    next: `snippetctl migrate plan --write create_${resource.table}`,
  })
  return 0
}

function parseResource(name: string, fields: readonly string[], { path }: AddOptions): UndeclaredResource {
  requireName('resource', name)
  const read = fields.map(readField)
  const twice = read.find((field, at) => read.findIndex((other) => other.name === field.name) < at)
  if (twice) throw new Failure(2, `the field \`${twice.name}\` is given twice`)
  const many = plural(name)
  return { name, table: many, path: path ?? `/${many.replaceAll('_', '-')}/`, fields: read }
}

/** Forms a plural that is right for most nouns; `--path` overrides it. */
function plural(name: string): string {
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`
}

/** @throws Failure 2 if a model or resource has the name already */
function rejectTaken({ models, resources }: AppSpec, name: string): void {
  const kinds = { model: models, resource: resources }
  for (const [kind, declared] of Object.entries(kinds)) {
    if (!declared.some((one) => one.name === name)) continue
    throw new Failure(2, `there is a ${kind} \`${name}\` already`, ['give the new one another name'])
  }
}

function byHand(file: string, resource: UndeclaredResource): Failure {
  const { models, resources } = formatResource(resource)
  const indented = (text: string) => text.replaceAll(/^/gm, '      ')
  return new Failure(
    2,
    `\`models\`, \`resources\` or all of \`${file}\` is in flow style, such as JSON, and only block style can be appended to`,
    [`write it by hand, under \`models\`:\n${indented(models)}\n    and under \`resources\`:\n${indented(resources)}`],
  )
}

/** @throws Finished 2 if the new file would have errors, after printing them; then nothing is written */
function requireValid(context: CliContext, file: string, edited: string): void {
  const document = readConfig(new TextEncoder().encode(edited), file)
  const checked = isRejected(document) ? document : checkConfig(document)
  if (!isRejected(checked)) return
  printFrames(context.err, { diagnostics: checked, source: edited })
  context.err.line('  = help: nothing was written; the excerpt shows the file with the addition')
  throw new Finished(2)
}

function isRejected<T extends object>(result: T | readonly Diagnostic[]): result is readonly Diagnostic[] {
  return Array.isArray(result)
}

/** Returns the added lines. The second text contains all lines of the first. */
function addedLines(before: string, after: string): readonly AddedLine[] {
  const old = before.split(/\r?\n/)
  let kept = 0
  const added: AddedLine[] = []
  for (const [index, text] of after.split(/\r?\n/).entries()) {
    if (text === old[kept]) kept += 1
    else added.push({ line: index + 1, text })
  }
  return added.filter(({ text }) => text !== '')
}

interface Report {
  readonly file: string
  readonly added: readonly AddedLine[]
  readonly next: string
}

function report(context: CliContext, { json, dryRun }: AddOptions, { file, added, next }: Report): void {
  const { out, err } = context
  if (json) return out.data(JSON.stringify({ schemaVersion: 1, file, written: !dryRun, added }))
  const verb = dryRun ? 'would change' : 'changed'
  err.line(`${err.colors.green(verb)}  ${file}   + ${count(added.length, 'line')}, comments and order kept`)
  err.line()
  const width = String(added.at(-1)?.line ?? '').length
  for (const { line, text } of added) out.line(`  ${String(line).padStart(width)} | ${text}`)
  if (dryRun) return
  err.line()
  err.line(`next     ${next}`)
}
