/** The events of the process to which tests and the program listen. */
const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2', 'exit', 'warning']

/**
 * Remembers the globals of the process before a test file.
 * @returns a function that restores them
 */
export function rememberGlobals() {
  const { console } = globalThis
  const { exit } = process
  const names = new Set(Object.keys(globalThis))
  const env = { ...process.env }
  const folder = process.cwd()
  const listeners = EVENTS.map((name) => [name, new Set(process.rawListeners(name))])
  return () => {
    globalThis.console = console
    process.exit = exit
    for (const name of Object.keys(globalThis)) if (!names.has(name)) delete globalThis[name]
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
    Object.assign(process.env, env)
    process.chdir(folder)
    for (const [name, before] of listeners) {
      for (const listener of process.rawListeners(name)) {
        if (!before.has(listener)) process.removeListener(name, listener)
      }
    }
  }
}
