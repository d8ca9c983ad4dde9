// The extension is .ts because Jest loads this file without the tests' module mapping.
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
  /** Passed from Jest's global set-up to its tear-down, which run in one process. */
  var testServer: TestServer | undefined
}

type Kind = 'given' | 'docker' | 'local' | 'embedded' | 'none'

interface Source {
  readonly kind: Kind
  readonly available: () => boolean
  readonly start: () => Promise<TestServer>
}

/** In order of preference. A source that is available but fails is an error, never skipped silently. */
const SOURCES: readonly Source[] = [
  { kind: 'given', available: () => process.env.TEST_DATABASE_URL !== undefined, start: fromEnvironment },
  {
    kind: 'docker',
    // The docker command alone proves nothing: it may be installed without an engine.
    available: () => process.env.DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock'),
    start: fromDocker,
  },
  { kind: 'local', available: () => installedBinaries() !== undefined, start: fromInstalled },
  { kind: 'embedded', available: () => true, start: embedded },
  { kind: 'none', available: () => false, start: none },
]

/** Chooses and starts the database for the tests, and passes it to the workers by the environment. */
export default async function setUp(): Promise<void> {
  const forced = process.env.SNIPPETCTL_TEST_DB
  const source = SOURCES.find(({ kind, available }) => (forced ? kind === forced : available()))
  if (!source) throw new Error(`SNIPPETCTL_TEST_DB is ${forced}; it must be given, docker, local, embedded or none`)
  const server = await source.start()
  Object.assign(process.env, server.environment)
  globalThis.testServer = server
  process.stderr.write(`test database: ${server.description}\n`)
}
