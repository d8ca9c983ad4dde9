import type { Command } from 'commander'
import { checkUp } from '../project/check-up.js'
import type { CliContext, CommonOptions } from '../context.js'
import type { ExitCode } from '../failure.js'
import type { Finding } from '../project/finding.js'
import { alignColumns, count } from '../output.js'
import { readsOnly } from '../lost-connection.js'

interface DoctorOptions extends CommonOptions {
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl doctor
  $ snippetctl doctor --json           for a report of a problem; it contains no password

Exits with 1 if a check fails; warnings do not count. Changes nothing.`

/** `doctor`: checks whether a project can be served on this machine, one line for each check. */
export function addDoctor(program: Command, context: CliContext): void {
  readsOnly(program.command('doctor'))
    .description('check what a project needs, and print how to fix each problem')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: DoctorOptions) => context.finish(await examine(context, options)))
}

async function examine(context: CliContext, options: DoctorOptions): Promise<ExitCode> {
  const checked = await checkUp(context, options)
  const findings = checked.map((each) => ({ ...each, help: each.help.map(context.withConfig) }))
  const failed = findings.filter(({ state }) => state === 'fail').length
  if (options.json) {
    context.out.data(JSON.stringify({ schemaVersion: 1, ok: failed === 0, checks: findings }))
  } else {
    print(context, findings)
    const warned = findings.filter(({ state }) => state === 'warn').length
    context.err.line(`\n${count(findings.length, 'check')}, ${failed} failed, ${count(warned, 'warning')}`)
  }
  return failed > 0 ? 1 : 0
}

function print({ out }: CliContext, findings: readonly Finding[]): void {
  const { colors, line } = out
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }
  const rows = alignColumns(findings.map(({ state, check, message }) => [state, check, message]))
  findings.forEach(({ state, help }, at) => {
    line((rows[at] ?? '').replace(state, paint[state]))
    for (const text of help) line(`      ${colors.cyan('= help:')} ${text}`)
  })
}
