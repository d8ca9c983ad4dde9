// The ending is .ts because Jest loads this file without the mapping of names that tests have.
import { existsSync } from 'node:fs'
import {
  type TestServer,
  embedded,
  fromDocker,
  fromEnvironment,
  fromInstalled,
  installedBinaries,
  none,
} from './servers.ts'

declare global {
  /** Handed from Jest's global set-up to its tear-down, which run in one process. */
  var testServer: TestServer | undefined
}

type Kind = 'given' | 'docker' | 'local' | 'embedded' | 'none'

interface Source {
  readonly kind: Kind
  readonly available: () => boolean
  readonly start: () => Promise<TestServer>
}

/** In this order. A source that says it is available and then fails is an error, never passed over in silence. */
const SOURCES: readonly Source[] = [
  { kind: 'given', available: () => process.env.TEST_DATABASE_URL !== undefined, start: fromEnvironment },
  {
    kind: 'docker',
    // The command proves nothing: it may be installed with no engine.
    available: () => process.env.DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock'),
    start: fromDocker,
  },
  { kind: 'local', available: () => installedBinaries() !== undefined, start: fromInstalled },
  { kind: 'embedded', available: () => true, start: embedded },
  { kind: 'none', available: () => false, start: none },
]

/** Decides once which database the tests run on, starts it, and tells the workers by the environment. */
export default async function setUp(): Promise<void> {
  const forced = process.env.SNIPPETCTL_TEST_DB
  const source = SOURCES.find(({ kind, available }) => (forced ? kind === forced : available()))
  if (!source) throw new Error(`SNIPPETCTL_TEST_DB is ${forced}; it must be given, docker, local, embedded or none`)
  const server = await source.start()
  Object.assign(process.env, server.environment)
  globalThis.testServer = server
  process.stderr.write(`test database: ${server.description}\n`)
}
