import IsolatedEnvironment from './isolated-environment.mjs'
import { rememberGlobals } from './worker-globals.mjs'

/** Global properties in which Jest keeps the tests of a file. */
const TESTS = new Set(['JEST_STATE_SYMBOL', 'EVENT_HANDLERS'])

/** The environment of one test file: the globals of the worker itself, which are restored for the next file. */
export default class SharedEnvironment extends IsolatedEnvironment {
  #restore

  constructor(config, context) {
    super(config, context)
    this.#restore = rememberGlobals()
    this.global = globalThis
    this.moduleMocker = new this.moduleMocker.constructor(globalThis)
    this.fakeTimersModern = new this.fakeTimersModern.constructor({ config: config.projectConfig, global: globalThis })
  }

  async teardown() {
    this.moduleMocker.restoreAllMocks()
    await super.teardown()
    this.#restore()
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (TESTS.has(symbol.description)) delete globalThis[symbol]
    }
  }
}
