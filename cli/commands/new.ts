import { mkdir, readdir } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { createWhole } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { alignColumns, firstOf } from '../output.js'
import { templateFiles } from '../project/template/template.js'

interface NewOptions {
  readonly empty?: true
  readonly js?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl new my-api
  $ snippetctl new my-api --empty       without the example
  $ snippetctl new .                    in the current folder, which must be empty

Then: cd my-api && npm install && npx snippetctl serve`

/** `new`: writes the files of a project. It asks no questions and uses no network. */
export function addNew(program: Command, context: CliContext): void {
  program
    .command('new')
    .description('write the files of a new project')
    .argument('<name>', 'the new folder; its last part is the name of the project')
    .option('--empty', 'without the example resource')
    .option('--js', 'the plugin in JavaScript')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, options: NewOptions) => context.finish(await makeProject(context, name, options)))
}

async function makeProject(context: CliContext, given: string, { empty, js }: NewOptions): Promise<ExitCode> {
  const folder = resolve(context.cwd, given)
  const files = templateFiles({
    name: projectName(folder),
    version: context.version,
    empty: empty === true,
    language: js ? 'js' : 'ts',
  })
  await requireEmptyFolder(folder, given)
  for (const { path, text } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    // Fails if the file was created in the meantime.
    await createWhole(join(folder, path), text)
  }
  const shown = relative(context.cwd, folder)
  const { colors, line } = context.err
  const rows = files.map(({ path, what }) => ['created', join(shown, path), what])
  for (const row of alignColumns(rows)) line(row.replace(/^created/, colors.green('created')))
  line()
  const steps = [...(shown === '' ? [] : [`cd ${shown}`]), 'npm install', 'npx snippetctl serve']
  steps.forEach((step, at) => line(`${at === 0 ? 'next   ' : '       '}  ${step}`))
  return 0
}

/** @throws Failure 2 if the name of the folder is not valid for npm */
function projectName(folder: string): string {
  const name = basename(folder)
  if (/^[a-z0-9][a-z0-9._-]{0,200}$/.test(name)) return name
  const near = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  throw new Failure(
    2,
    `\`${name}\` is not a valid project name: use lower-case letters, digits, \`.\`, \`_\` and \`-\``,
    [`npm accepts no others; for example: snippetctl new ${near || 'my-api'}`],
  )
}

const MAX_SHOWN = 8

/** @throws Failure 2 if the folder is not empty, or cannot be created */
async function requireEmptyFolder(folder: string, given: string): Promise<void> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Failure(2, `cannot create \`${given}\`: ${error.message}`, ['name another folder'], error)
  })
  const there = found.filter((name) => name !== '.git').sort()
  if (there.length === 0) return
  throw new Failure(2, `\`${given}\` is not empty: ${firstOf(there, MAX_SHOWN).join(', ')}`, [
    'nothing was written; name a new folder, or an empty one',
  ])
}
