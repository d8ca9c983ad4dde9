import { appendFileSync, readFileSync } from 'node:fs'
import TestRunner from 'jest-runner'
import { writeTask } from './task.mjs'

/** Runs test files as the work in a file says, one after the other and some of them many times, and notes what became of each. */
export default class MutantRunner {
  supportsEventEmitters = false
  isSerial = true
  #globalConfig
  #context

  constructor(globalConfig, context) {
    this.#globalConfig = globalConfig
    this.#context = context
  }

  async runTests(tests, watcher) {
    const { work, log, until } = JSON.parse(readFileSync(process.env.MUTATE_WORK, 'utf8'))
    const note = (entry) => appendFileSync(log, `${JSON.stringify(entry)}\n`)
    const testOf = (name) => tests.find(({ path }) => path.endsWith(`/${name}`))
    for (const { name, files, ...task } of work) {
      if (Date.now() > until) return
      note({ name, begins: true })
      let failure
      const started = performance.now()
      for (const file of files) {
        note({ name, file })
        writeTask(task)
        failure = await this.#run(testOf(file), watcher)
        if (failure === undefined) continue
        failure = { file, ...failure }
        break
      }
      note({ name, ended: true, seconds: (performance.now() - started) / 1000, ...(failure && { failure }) })
    }
  }

  async #run(test, watcher) {
    const inner = new TestRunner(this.#globalConfig, this.#context)
    let failure
    inner.on('test-file-failure', ([, error]) => (failure = { test: '(the file)', message: first(error.message) }))
    inner.on('test-file-success', ([, { testExecError, testResults, numFailingTests }]) => {
      if (testExecError) failure = { test: '(the file)', message: first(testExecError.message) }
      const failed = testResults.filter(({ status }) => status === 'failed')
      const [one] = failed
      const all = failed.map(({ fullName }) => fullName)
      if (numFailingTests > 0) failure = { test: one?.fullName, message: first(one?.failureMessages[0]), all }
    })
    await inner.runTests([test], watcher, { serial: true })
    return failure
  }
}

function first(text) {
  return String(text).slice(0, 300)
}
