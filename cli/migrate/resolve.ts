import {
  type Database,
  type Diagnosis,
  diagnoseJournal,
  type MigrationFolder,
  migrationStatus,
  type Resolution,
  resolveJournal,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec } from '../context.js'
import { inServer, onDatabase } from '../database/database.js'
import { type ExitCode, Failure } from '../failure.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface ResolveOptions extends CommonOptions, ScratchOptions {
  /** `true` without names: all pending files. */
  readonly applied?: readonly string[] | true
  readonly notApplied?: readonly string[]
  readonly edited?: readonly string[]
  readonly yes?: true
}

/** `migrate resolve`: corrects the journal after comparing it with the database; without options, shows what would correct it. */
export async function resolve(context: CliContext, options: ResolveOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const sized = { ...options, tables: spec.models.length }
  return onDatabase<ExitCode>(context, spec, async (database, folder) => {
    const { applied = [], notApplied = [], edited = [], yes = false } = options
    if (applied !== true && applied.length + notApplied.length + edited.length === 0)
      return print(
        context,
        await withScratch(context, sized, (scratch) => diagnoseJournal(database, folder, scratch)),
        inServer(database),
      )
    const names = applied === true ? await pendingOf(database, folder) : applied
    if (applied === true && names.length === 0) throw new Failure(1, 'no migration is pending; nothing was recorded')
    const resolution: Resolution = { applied: names, notApplied, edited }
    const notes = await withScratch(context, sized, (scratch) =>
      resolveJournal(database, folder, { ...resolution, certain: yes, scratch }),
    )
    for (const [verb, list] of done(resolution)) for (const name of list) context.err.line(`${verb} ${name}`)
    const where = inServer(database)
    if (where !== '') context.err.line(`the journal is corrected${where}`)
    for (const note of notes) context.err.line(`  ! ${note}`)
    context.err.line('  next   compare the database with the files: snippetctl migrate status')
    return 0
  })
}

async function pendingOf(database: Database, folder: MigrationFolder): Promise<readonly string[]> {
  return (await migrationStatus(database, folder)).filter(({ state }) => state === 'pending').map(({ name }) => name)
}

function done({ applied, notApplied, edited }: Resolution) {
  return [
    ['removed from the journal:', notApplied],
    ['recorded as applied:', applied],
    ['accepted as edited:', edited],
  ] as const
}

function print({ out, err }: CliContext, diagnosis: Diagnosis, where: string): ExitCode {
  const { findings, resolution, contradictions, behind } = diagnosis
  if (findings.length === 0) {
    err.line(`the journal and the files agree: there is nothing to resolve${where}`)
    return 0
  }
  for (const finding of findings) out.line(finding)
  for (const { text } of contradictions) out.line(`  but ${text}`)
  if (behind.length > 0) {
    const files = behind.join(', ')
    const apply = `apply ${files} first, with the version of the project that still has these files: snippetctl migrate up`
    const lines =
      contradictions.length === 0
        ? [`changes of rows are not compared: unless the database has the row changes of ${files}, ${apply}`]
        : [apply, 'or make their changes by hand; changes of rows are not compared:']
    for (const line of lines) out.line(`  = help: ${line}`)
  }
  for (const { help } of contradictions) out.line(`  = help: ${help}`)
  const isLeavable = contradictions.every(({ leavable }) => leavable)
  const command = `snippetctl migrate resolve${optionsOf(resolution)}${contradictions.length > 0 ? ' --yes' : ''}`
  if (isLeavable)
    out.line(`  = help: ${contradictions.length > 0 ? 'accept it' : 'the database confirms this'}: ${command}`)
  else out.line(`  = help: after that, run again: snippetctl migrate resolve`)
  return 1
}

function optionsOf({ applied, notApplied, edited }: Resolution): string {
  const lists = [
    ['--not-applied', notApplied],
    ['--applied', applied],
    ['--edited', edited],
  ] as const
  return lists.map(([flag, names]) => (names.length === 0 ? '' : ` ${flag} ${names.join(' ')}`)).join('')
}
