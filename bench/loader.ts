import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Drive, Driven } from './drive.js'

/** The process that sends requests. */
export interface Loader {
  readonly pid: number
  /** @throws Error if the server could not be reached */
  drive(task: Drive): Promise<Driven>
  stop(): void
}

export function startLoader(): Loader {
  const child = fork(fileURLToPath(new URL('load.js', import.meta.url)))
  return {
    pid: child.pid ?? 0,
    drive: async (task) => {
      child.send(task)
      const [result] = (await once(child, 'message')) as [Driven | { readonly failure: string }]
      if ('failure' in result) throw new Error(`the load could not be sent: ${result.failure}`)
      return result
    },
    stop: () => child.disconnect(),
  }
}
