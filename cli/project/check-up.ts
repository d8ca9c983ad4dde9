import { access, constants, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { dirname, join, resolve } from 'node:path'
import { urlOf } from '../../src/internal.js'
import { rejectedAddress } from '../serve/address.js'
import { type Application, type CliContext, type CommonOptions, loadConfig, shownPath } from '../context.js'
import { checkUpDatabase } from './check-up-database.js'
import { describeEnvFile } from '../env-file.js'
import { Failure } from '../failure.js'
import { type Finding, ok } from './finding.js'
import { count } from '../output.js'

/** Checks everything that a project needs, in the order of a server start. Changes nothing and prints no secrets. */
export async function checkUp(context: CliContext, options: CommonOptions): Promise<readonly Finding[]> {
  const file = resolve(context.cwd, options.config)
  const { finding, application } = await findConfiguration(context, options)
  return [
    findNode(process.versions.node),
    await findPackage(context, dirname(file)),
    ...findEnvFile(context),
    finding,
    await findFolder(context, dirname(file)),
    ...(application ? await checkUpDatabase(context, application.spec) : []),
    await findPort(context, application),
    ...findProxy(context),
  ]
}

/** The versions that the tests run on. */
const TESTED: ReadonlySet<string> = new Set(['20', '22', '24'])

function findNode(version: string): Finding {
  if (TESTED.has(version.split('.')[0] ?? '')) return ok('node', version)
  const help = [`install one of Node ${[...TESTED].join(', ')}: https://nodejs.org/en/download`]
  return { check: 'node', state: 'warn', message: `${version}, which is not tested`, help }
}

/** Compares the running version with the one in package-lock.json. */
async function findPackage({ version }: CliContext, folder: string): Promise<Finding> {
  const text = await readFile(join(folder, 'package-lock.json'), 'utf8').catch(() => '{}')
  const locked = lockedVersion(text)
  if (locked === undefined || locked === version) return ok('snippetctl', version)
  const message = `${version} is running, but package-lock.json has ${locked}`
  return { check: 'snippetctl', state: 'warn', message, help: ['npm ci', 'run it as: npx snippetctl doctor'] }
}

function lockedVersion(text: string): string | undefined {
  try {
    const lock = JSON.parse(text) as { packages?: Record<string, { version?: string } | undefined> }
    return lock.packages?.['node_modules/snippetctl']?.version
  } catch {
    return undefined
  }
}

/** Checks the `.env` file, if there is one. */
function findEnvFile({ envFile }: CliContext): readonly Finding[] {
  const check = 'variables'
  if (envFile === undefined) return []
  if (envFile.failure === undefined) return [ok(check, describeEnvFile(envFile))]
  const { message, help } = envFile.failure
  return [{ check, state: 'fail', message, help }]
}

async function findConfiguration(
  context: CliContext,
  options: CommonOptions,
): Promise<{ readonly finding: Finding; readonly application?: Application }> {
  const check = 'configuration'
  const file = shownPath(context, resolve(context.cwd, options.config))
  try {
    const loaded = await loadConfig(context, options)
    if (!loaded.ok) {
      const message = `${file}: ${count(loaded.diagnostics.length, 'error')}`
      return { finding: { check, state: 'fail', message, help: ['snippetctl check'] } }
    }
    const warnings = loaded.warnings().length
    const sizes = `${count(loaded.app.resources.length, 'resource')}, ${count([...loaded.app.routes].length, 'route')}`
    const finding: Finding =
      warnings === 0
        ? ok(check, `${file}: ${sizes}`)
        : {
            check,
            state: 'warn',
            message: `${file}: ${sizes}, ${count(warnings, 'warning')}`,
            help: ['snippetctl check'],
          }
    return { finding, application: loaded }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const help = [...error.help, 'or make a project: snippetctl new NAME']
    return { finding: { check, state: 'fail', message: error.message, help } }
  }
}

/** Checks that the folder of compiled plugins and of the embedded database is writable. */
async function findFolder(context: CliContext, folder: string): Promise<Finding> {
  const check = 'folder'
  const own = join(folder, '.snippetctl')
  const shown = shownPath(context, own)
  // The trailing slash makes a file of that name an error.
  const rejection = (path: string) => access(`${path}/`, constants.W_OK | constants.X_OK).then(() => undefined, codeOf)
  const code = await rejection(own)
  const blocked = code === 'ENOENT' ? await rejection(folder) : code
  if (blocked === undefined) return ok(check, `${shown} can be written`)
  const help = [`ls -ld ${shown}`, `chmod u+rwx ${code === 'ENOENT' ? folder : shown}`]
  return { check, state: 'fail', message: `${shown} is not writable (${blocked})`, help }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

const DEFAULT_PORT = '8000'

async function findPort({ env }: CliContext, application: Application | undefined): Promise<Finding> {
  const check = 'port'
  const port = Number(env['PORT'] ?? DEFAULT_PORT)
  const host = env['HOST'] ?? '127.0.0.1'
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return ok(check, `${port} on ${host} is free`)
  } catch (cause) {
    const isTaken = codeOf(cause) === 'EADDRINUSE'
    if (isTaken && application && (await servesThis(application, { host, port })))
      return ok(check, `${port} on ${host}: this project is served there`)
    const failure = rejectedAddress({ port, host }, cause)
    const { message, help } = failure instanceof Failure ? failure : { message: String(failure), help: [] }
    return { check, state: isTaken ? 'warn' : 'fail', message, help }
  } finally {
    server.close()
  }
}

const FETCH_TIMEOUT_MS = 2_000

/** Whether a server at the address serves this API, judging by the title and one path; it may serve an older version of the file. */
async function servesThis({ app, spec }: Application, address: { readonly host: string; readonly port: number }) {
  const own = new Set([...app.routes].map(({ path }) => path))
  try {
    const reply = await fetch(`${urlOf(address)}/openapi.json`, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
    const { info, paths } = (await reply.json()) as { info?: { title?: unknown }; paths?: object }
    return info?.title === spec.api.title && Object.keys(paths ?? {}).some((path) => own.has(path))
  } catch {
    return false
  }
}

/** A proxy in the environment also receives requests for localhost, unless `NO_PROXY` excludes it. */
function findProxy({ env }: CliContext): readonly Finding[] {
  // curl does not read `HTTP_PROXY`, which a request to a CGI program could set.
  if (!env['http_proxy']) return []
  const except = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  if (/(^|,)\s*(\*|localhost|127\.0\.0\.1)\s*(,|$)/.test(except))
    return [ok('proxy', 'http_proxy, but not for this machine')]
  const help = ['export NO_PROXY=localhost,127.0.0.1']
  return [
    { check: 'proxy', state: 'warn', message: 'http_proxy is set, and curl uses that proxy for localhost too', help },
  ]
}
