/**
 * The module loader of Jest, in which every test file evaluates all modules in a context of its own, replaced by Node's. Test files share
 * the modules of `src/` and of packages, which keep no state, and their compiled code; only the modules of tests are evaluated for each file.
 */
const hooks = require('node:async_hooks')
const { register } = require('node:module')
const { fileURLToPath, pathToFileURL } = require('node:url')
const { sourceMapOf } = require('./compile.cjs')

register('./typescript.mjs', pathToFileURL(__filename))

let files = 0

/**
 * Replaces AsyncLocalStorage for Jest, which makes one for each test file and never disables it: every promise of the later files visits all of them.
 * Jest keeps the running test in it, to which it attributes errors that nobody catches. The tests of a file run one after another, so a variable does; an
 * error of work that a test left behind is attributed to the test that runs then.
 */
class SequentialStorage {
  #value

  getStore() {
    return this.#value
  }

  run(value, work) {
    const outer = this.#value
    const restore = () => {
      this.#value = outer
    }
    this.#value = value
    return work().finally(restore)
  }
}

/** The source maps of test files and sources, by the name that stacks give them. */
class SourceMaps extends Map {
  get(name) {
    const url = name.startsWith('file:') ? new URL(name) : pathToFileURL(name)
    return url.pathname.endsWith('.ts') ? sourceMapOf(fileURLToPath(url)) : undefined
  }
}

module.exports = class SharedRuntime {
  #environment
  #query
  #sourceMaps = new SourceMaps()

  constructor(_config, environment) {
    files += 1
    this.#environment = environment
    this.#query = `?file=${files}`
  }

  unstable_shouldLoadAsEsm() {
    return true
  }

  async unstable_importModule(path) {
    await import(pathToFileURL(path).href + this.#query)
  }

  /** Jest's own modules keep the tests of a file. */
  requireInternalModule(path) {
    // A value in Node 20, and a getter since.
    const own = Object.getOwnPropertyDescriptor(hooks, 'AsyncLocalStorage')
    delete require.cache[path]
    Object.defineProperty(hooks, 'AsyncLocalStorage', { configurable: true, value: SequentialStorage })
    try {
      return require(path)
    } finally {
      Object.defineProperty(hooks, 'AsyncLocalStorage', own)
    }
  }

  requireModule(path) {
    return require(path)
  }

  setGlobalsForRuntime(globals) {
    globalThis[Symbol.for('snippetctl.jest')] = { ...globals, jest: jestOf(this.#environment) }
  }

  getSourceMaps() {
    return this.#sourceMaps
  }

  getAllCoverageInfoCopy() {}
  enterTestCode() {}
  leaveTestCode() {}
  teardown() {}
}

/** The part of the `jest` object that does not replace modules. */
function jestOf({ moduleMocker, fakeTimersModern }) {
  const mocks = ['fn', 'spyOn', 'mocked', 'replaceProperty', 'clearAllMocks', 'resetAllMocks', 'restoreAllMocks']
  const timers = [
    'useFakeTimers',
    'useRealTimers',
    'setSystemTime',
    'advanceTimersByTime',
    'advanceTimersByTimeAsync',
    'getTimerCount',
  ]
  const bind = (object, names) => names.map((name) => [name, (...given) => object[name](...given)])
  return Object.fromEntries([...bind(moduleMocker, mocks), ...bind(fakeTimersModern, timers)])
}
