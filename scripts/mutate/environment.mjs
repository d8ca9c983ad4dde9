import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import IsolatedEnvironment from '../jest/isolated-environment.mjs'

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
    this.#task = JSON.parse(process.env.MUTATE_TASK ?? '{}')
    const { mutant, hitLimit } = this.#task
    this.global.__stryker__ = { activeMutant: mutant, hitCount: mutant === undefined ? undefined : 0, hitLimit }
  }

  handleTestEvent({ name, test }) {
    const mutants = this.global.__stryker__
    if (name === 'run_start') mutants.currentTestId = HOOKS
    if (name === 'test_start' && this.#isLeftOut(test)) test.mode = 'skip'
    else if (name === 'test_start') mutants.currentTestId = fullName(test)
    if (name !== 'test_done') return
    mutants.currentTestId = HOOKS
    this.#seconds[fullName(test)] = (test.duration ?? 0) / 1000
    this.#failed ||= test.errors.length > 0
  }

  #isLeftOut(test) {
    const { mutant, only = {} } = this.#task
    return mutant !== undefined && (this.#failed || only[this.#file]?.includes(fullName(test)) === false)
  }

  async teardown() {
    const { coverageFile } = this.#task
    const { static: loaded, perTest } = this.global.__stryker__?.mutantCoverage ?? { static: {}, perTest: {} }
    if (coverageFile !== undefined)
      writeFileSync(coverageFile, JSON.stringify({ loaded, perTest, seconds: this.#seconds }))
    await super.teardown()
  }
}

/** As results spell it. */
function fullName({ name, parent }) {
  return parent?.parent ? `${fullName(parent)} ${name}` : name
}
