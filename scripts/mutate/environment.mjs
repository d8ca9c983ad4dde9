import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { endHost } from '../jest/command-hosts.mjs'
import IsolatedEnvironment from '../jest/isolated-environment.mjs'
import { readTask, switches, takeReached, writeTask } from './task.mjs'

/** What is reached outside of tests, by hooks. */
const HOOKS = '(hooks)'

/** The environment of one test file: wakes a mutant for the tests that reach it, until one fails, or notes what each test reaches. */
export default class MutantEnvironment extends IsolatedEnvironment {
  #failed = false
  #task
  #file
  #seconds = {}

  constructor(config, context) {
    super(config, context)
    this.#file = relative(config.projectConfig.rootDir, context.testPath)
  }

  async setup() {
    await super.setup()
    this.#task = readTask()
    this.global.__stryker__ = switches(this.#task)
    takeReached()
  }

  handleTestEvent({ name, test }) {
    if (name === 'run_start') this.#begin(HOOKS)
    if (name === 'test_start' && this.#isLeftOut(test)) test.mode = 'skip'
    else if (name === 'test_start') this.#begin(fullName(test))
    if (name !== 'test_done') return
    this.#begin(HOOKS)
    this.#seconds[fullName(test)] = (test.duration ?? 0) / 1000
    this.#failed ||= test.errors.length > 0
  }

  #begin(test) {
    this.global.__stryker__.currentTestId = test
    writeTask({ ...this.#task, test })
  }

  #isLeftOut(test) {
    const { mutant, only = {} } = this.#task
    return mutant !== undefined && (this.#failed || only[this.#file]?.includes(fullName(test)) === false)
  }

  async teardown() {
    // A host has loaded its modules with the mutant of this file awake.
    endHost()
    const { coverageFile } = this.#task
    if (coverageFile !== undefined) writeFileSync(coverageFile, JSON.stringify(this.#reached()))
    await super.teardown()
  }

  #reached() {
    const all = [this.global.__stryker__.mutantCoverage, ...takeReached()]
    const loaded = Object.assign({}, ...all.map((one) => one.static))
    const perTest = {}
    for (const one of all)
      for (const [test, ids] of Object.entries(one.perTest)) Object.assign((perTest[test] ??= {}), ids)
    return { loaded, perTest, seconds: this.#seconds }
  }
}

/** As results spell it. */
function fullName({ name, parent }) {
  return parent?.parent ? `${fullName(parent)} ${name}` : name
}
