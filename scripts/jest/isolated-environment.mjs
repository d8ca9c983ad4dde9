import { TestEnvironment } from 'jest-environment-node'
import { commandHost } from './command-hosts.mjs'
import { embeddedDatabases } from './embedded-databases.mjs'

/** Jest ends its workers, but a few files run in Jest's own process, which the timers of an open database keep from ending. */
const isJestItself = process.send === undefined

/** Node's environment in a context of its own, with the embedded databases of the worker. */
export default class IsolatedEnvironment extends TestEnvironment {
  async setup() {
    await super.setup()
    this.global.embeddedDatabases = embeddedDatabases
    this.global.commandHost = commandHost
  }

  async teardown() {
    await super.teardown()
    if (isJestItself) await embeddedDatabases.close()
  }
}
