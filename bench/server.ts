import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ask } from './ask.js'
import { freePort } from './cluster.js'
import type { Contestant } from './contestants.js'

/** A running contestant. */
export interface Running {
  readonly pid: number
  readonly port: number
  /** Milliseconds from the start of the process to its first response with data. */
  readonly coldStart: number
  stop(): Promise<void>
}

interface Start {
  readonly contestant: Contestant
  /** Without it, the contestant uses the embedded database next to its configuration, as in development. */
  readonly url?: string
  /** Options of Node itself. */
  readonly node?: readonly string[]
  /** The path that must respond first. */
  readonly path?: string
}

const PATIENCE = 30_000
const PAUSE = 4

/** Starts a contestant; its log is discarded. */
export async function startServer({
  contestant,
  url,
  node = [],
  path = '/api/snippets-viewset/1/',
}: Start): Promise<Running> {
  const port = await freePort()
  const started = performance.now()
  const child = spawn(process.execPath, [...node, ...contestant.program], {
    cwd: contestant.directory,
    env: {
      ...process.env,
      ...(url && { NODE_ENV: 'production', DATABASE_URL: url }),
      PORT: String(port),
      HOST: '127.0.0.1',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await exited
  }
  while ((await ask({ port, path }).catch(() => undefined))?.status !== 200) {
    const waited = performance.now() - started
    if (child.exitCode === null && waited < PATIENCE) await delay(PAUSE)
    else {
      await stop()
      throw new Error(`${contestant.program.join(' ')} did not answer 200 at ${path} within ${Math.round(waited)} ms`)
    }
  }
  return { pid: child.pid ?? 0, port, coldStart: performance.now() - started, stop }
}
