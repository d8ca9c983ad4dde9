import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type AppSpec,
  checkConfig,
  type ConfigDocument,
  findWidened,
  readConfig,
  renderDiagnostics,
  type Widened,
} from '../../../src/internal.js'
import { type CliContext, type CommonOptions, shownPath } from '../../context.js'
import { type ExitCode, Failure } from '../../failure.js'
import { count } from '../../output.js'
import { linesIn } from './access-text.js'

interface DiffOptions extends CommonOptions {
  /** The file to compare with. */
  readonly diff: string
  readonly allowWider?: readonly string[]
  readonly json?: true
}

interface Read {
  readonly spec: AppSpec
  readonly document: ConfigDocument
  readonly shown: string
}

/** Compares two configurations. Returns 1 if access widens, except where that is allowed. */
export async function compareAccess(context: CliContext, options: DiffOptions): Promise<ExitCode> {
  const before = await readFileOf(context, options.diff)
  const after = await readFileOf(context, options.config)
  const allowed = new Set(options.allowWider ?? [])
  const widened = findWidened(
    { spec: before.spec, root: before.document.value },
    { spec: after.spec, root: after.document.value },
  )
  const unused = [...allowed].filter((name) => !widened.some(({ what }) => what === name))
  if (unused.length > 0)
    throw new Failure(2, `--allow-wider names grants that do not widen: ${unused.join(', ')}`, ['remove it'])
  const rest = widened.filter(({ what }) => !allowed.has(what))
  if (options.json)
    context.out.data(JSON.stringify({ schemaVersion: 1, wider: rest.map((each) => jsonOf(each, before, after)) }))
  else print(context, rest, { before, after })
  return rest.length === 0 ? 0 : 1
}

async function readFileOf(context: CliContext, name: string): Promise<Read> {
  const file = resolve(context.cwd, name)
  const shown = shownPath(context, file)
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    const isFolder = cause.code === 'EISDIR'
    const reason = isFolder ? 'it is a folder' : cause.message
    const help = isFolder ? [`name a file in it: ${shownPath(context, join(file, 'resources.yaml'))}`] : []
    throw new Failure(2, `cannot read \`${shown}\`: ${reason}`, help, cause)
  })
  const document = readConfig(bytes, shown)
  const spec = 'locate' in document ? checkConfig(document) : document
  if (!('locate' in document) || Array.isArray(spec)) {
    const diagnostics = Array.isArray(spec) ? spec : []
    context.err.line(renderDiagnostics(diagnostics, bytes.toString()))
    throw new Failure(2, `\`${shown}\` has mistakes, so it cannot be compared`)
  }
  return { spec: spec, document, shown }
}

function jsonOf({ what, now, path, before: old }: Widened, before: Read, after: Read) {
  return {
    what,
    now,
    line: linesIn(after.document)(path),
    before: old.map((each) => ({ text: each.text, line: linesIn(before.document)(each.path) })),
  }
}

function print(
  { out }: CliContext,
  widened: readonly Widened[],
  { before, after }: { readonly before: Read; readonly after: Read },
): void {
  if (widened.length === 0) return out.line('access does not widen')
  const blocks = widened.map(({ what, now, path, before: old }) => {
    const grants = old.map((each) => `  old  ${before.shown}:${linesIn(before.document)(each.path)}  ${each.text}`)
    return [
      `${what} widens`,
      `  new  ${after.shown}:${linesIn(after.document)(path)}  ${now}`,
      ...(grants.length === 0 ? ['  old  nothing'] : new Set(grants)),
    ].join('\n')
  })
  // Grants in one line of the file may read the same.
  const different = new Set(blocks)
  for (const block of different) for (const line of block.split('\n')) out.line(line)
  out.line(
    `${count(different.size, 'grant or setting', 'grants or settings')} may widen access; allow one by --allow-wider=${widened[0]?.what}`,
  )
}
