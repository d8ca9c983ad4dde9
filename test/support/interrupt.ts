import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { COMMAND, inherited, type RunOptions } from './cli.js'
import { waitUntil } from './wait-until.js'

/** Runs a command until something is true, and then presses Ctrl-C. Returns the exit code, or the signal that ended the process. */
export async function interrupt(
  args: readonly string[],
  options: RunOptions,
  isTime: () => Promise<boolean>,
  by: NodeJS.Signals = 'SIGINT',
) {
  const { cwd, env = {} } = options
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd, env: { ...inherited(), ...env } })
  const ended = once(child, 'exit')
  await waitUntil(async () => child.exitCode !== null || (await isTime()))
  child.kill(by)
  const [code, signal] = await ended
  return (code ?? signal) as number | NodeJS.Signals
}
