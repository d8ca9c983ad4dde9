import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type AppSpec,
  type Database,
  DatabaseRejected,
  loadSpec,
  MigrationError,
  pluginFiles,
  Problem,
  type Service,
} from '../../src/internal.js'
import { awaitSchema } from './await-schema.js'
import { changesBetween } from './changes.js'
import {
  type Application,
  type CliContext,
  type CommonOptions,
  firstError,
  loadConfig,
  projectFolders,
  shownPath,
} from '../context.js'
import { printFrames } from '../diagnostics.js'
import { Failure } from '../failure.js'
import { fitSchema } from './fit-schema.js'
import { createFileWatcher } from './file-watcher.js'
import type { Log } from './log/log.js'
import { refreshTypes } from '../project/types-file.js'

/** The running server, and the files it was started from. */
interface Served {
  readonly context: CliContext
  readonly options: CommonOptions
  readonly application: Application
  readonly database: Database
  readonly service: Pick<Service, 'replace' | 'warn'>
  readonly log: Log
}

/** Whether a server reloads its files when they change. */
export function watchesFiles({ env, parent }: CliContext, { reload }: { readonly reload: boolean }): boolean {
  return reload && env['NODE_ENV'] !== 'production' && !parent
}

/** Files that a plugin can import. While a plugin fails to load, the missing file may be any of them. */
const SOURCE = /\.(?:[cm]?[jt]s|json)$/

/**
 * Watches the configuration, its keys, its plugins with their imports, and its migrations. A valid version is served from the next request on; while the
 * files have errors, the last good version stays.
 * @returns a function that stops watching and waits for a running reload
 */
export async function reloadOnSave(served: Served): Promise<() => Promise<void>> {
  const { log, application, database } = served
  const state = {
    spec: application.spec,
    fitted: application.spec,
    seen: new Map() as Contents,
    broken: false,
    /** Whether the next check reloads even if no file has changed. */
    again: false,
    /** Whether that reload was caused by a schema that now fits. */
    fits: false,
    closed: false,
  }
  const wait = awaitSchema(database)
  let turn = Promise.resolve()

  const watcher = createFileWatcher({
    concerns: (path) => {
      // While the files have errors, saving a file without changes requests another try.
      state.again ||= state.broken && (SOURCE.test(path) || path === state.spec.file)
      return state.again
    },
    changed: () => checkAgain(),
    failed: ({ message }) =>
      log.warn({
        event: 'not_followed',
        msg: `cannot watch the files, so restart the server after each change: ${message}`,
      }),
  })

  const refresh = async (): Promise<{ found: Contents; compiled: Contents }> => {
    const read = await loadSpec(state.spec.file).catch(() => undefined)
    const spec = read?.ok ? read.spec : state.spec
    const { migrations } = projectFolders(spec.file)
    const folder = typeof migrations === 'string' ? migrations : migrations.path
    const compiled = await pluginFiles(spec)
    const keys = spec.auth?.jwt?.keys
    const files = [spec.file, ...(keys === undefined ? [] : [keys]), ...compiled.keys()]
    watcher.watch([...files, folder])
    const names = await readdir(folder).catch(() => [])
    return {
      found: await readContents([...files, ...names.sort().map((name) => join(folder, name))]),
      compiled: new Map([...compiled].map(([path, hash]) => [path, hash ?? NONE])),
    }
  }

  const check = async (): Promise<void> => {
    const { found: seen } = await refresh()
    const before = state.seen
    const changed = changedIn(before, seen)
    if (state.closed || (changed.length === 0 && !state.again)) return
    // Files that are saved from here on are handled in the next turn.
    const tried = state.fits
    Object.assign(state, { seen, again: false, fits: false })
    wait.end()
    // Compiling a plugin discovers imports that existed before; they are not changes.
    const { written, awaited } = await reload(
      served,
      state,
      changed.filter((path) => before.has(path)),
    )
    state.broken = written === undefined
    // A transient failure says nothing about the schema, so try again as soon as the schema fits, even if it fits already.
    if (awaited && !state.closed) wait.begin({ spec: awaited.spec, tried: tried && !awaited.isTransient }, tryAgain)
    // Files that this turn wrote are not changes in the next one.
    if (written) state.seen = new Map([...seen, ...(await readContents(written))])
    const { found, compiled } = await refresh()
    // A file that the compilation discovered, or missed, may have been saved since.
    const discovered = new Map([...compiled].filter(([path]) => !seen.has(path)))
    state.seen = new Map([...state.seen, ...discovered])
    if ([...discovered].some(([path, digest]) => found.get(path) !== digest)) checkAgain()
  }

  const tryAgain = () => {
    Object.assign(state, { again: true, fits: true })
    checkAgain()
  }

  const checkAgain = () => {
    turn = turn.then(check).catch((error: unknown) => {
      log.error({ event: 'not_reloaded', msg: `cannot read the files: ${String(error)}` })
    })
  }

  const { found: seen } = await refresh()
  const late = await savedSince(served.context.startedAt, [...seen.keys()])
  state.seen = new Map([...seen, ...late])
  if (late.size > 0) checkAgain()
  await refreshTypes(application)
  return async () => {
    state.closed = true
    wait.end()
    watcher.close()
    await turn
  }
}

/** The digest of each file, by path. A file that is saved without changes keeps its digest. */
type Contents = ReadonlyMap<string, string>

/** In place of the digest of a file that does not exist. */
const NONE = 'none'

async function readContents(files: readonly string[]): Promise<Contents> {
  const contents = new Map<string, string>()
  for (const file of files) {
    const bytes = await readFile(file).catch(() => undefined)
    contents.set(file, bytes ? createHash('sha256').update(bytes).digest('hex') : NONE)
  }
  return contents
}

/** Returns the files saved since the process started, as changed: the start may have read an older version. */
async function savedSince(startedAt: number, files: readonly string[]): Promise<Contents> {
  const times = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
  const late = files.filter((_, index) => (times[index]?.mtimeMs ?? 0) > startedAt)
  return new Map(late.map((file) => [file, 'unknown']))
}

function changedIn(before: Contents, now: Contents): readonly string[] {
  return [...new Set([...now.keys(), ...before.keys()])].filter((file) => before.get(file) !== now.get(file))
}

interface Reloaded {
  /** The migrations that were written; undefined if the reload failed. The failure has been logged. */
  readonly written: readonly string[] | undefined
  /** The configuration that waits until another process has migrated the database. */
  readonly awaited?: AwaitedSchema
}

interface AwaitedSchema {
  readonly spec: AppSpec
  /** Whether the last try failed for a reason other than the schema, such as an unavailable database. */
  readonly isTransient: boolean
}

interface Versions {
  /** The configuration that is served. */
  spec: AppSpec
  /** The last one that the schema was made to fit. */
  fitted: AppSpec
}

async function reload(served: Served, state: Versions, changed: readonly string[]): Promise<Reloaded> {
  const { context, options, database, service, log } = served
  const started = performance.now()
  const file = shownPath(context, resolve(context.cwd, options.config))
  const before = state.spec
  let awaited: AppSpec | undefined
  try {
    const loaded = await loadConfig(context, options, false)
    if (!loaded.ok) {
      printFrames(context.err, loaded)
      const msg = `${firstError(context, loaded.diagnostics)}; ${LAST_GOOD}`
      log.error({ event: 'not_reloaded', msg })
      service.warn(msg)
      await loaded.close(log)
      return { written: undefined }
    }
    const { spec, app } = loaded
    if (database.whenPending === 'reject') awaited = spec
    const fitted = await fitSchema(context, { spec, before: state.fitted, database, log }, () => {
      service.replace(app)
      state.spec = spec
      awaited = undefined
    }).catch(async (error: unknown) => {
      if (state.spec !== spec) await loaded.close(log)
      throw error
    })
    if (!fitted.failed) state.fitted = spec
    const changes = [...changesBetween(before, spec), ...fitted.changes, ...(await refreshTypes(loaded))]
    const ms = Math.round(performance.now() - started)
    const files = changed.length > 0 ? changed.map((each) => shownPath(context, each)) : [file]
    log.info({
      event: 'reloaded',
      ms,
      files,
      changes,
      msg: [`reload  ${files.join(', ')}`, ...changes, `${ms} ms`].join('  '),
    })
    warnOfLeft(fitted, log)
    return { written: fitted.files }
  } catch (error) {
    const [message, help] = explain(error, context)
    const [event, now] =
      state.spec === before
        ? ['not_reloaded', awaited ? LAST_GOOD + UNTIL_IT_FITS : LAST_GOOD]
        : ['reload_incomplete', 'serving the new version']
    const msg = `${file}: ${message}; ${now}`
    log.error({ event, help, msg })
    service.warn(msg)
    for (const text of help) context.err.line(`  ${context.err.colors.cyan('= help:')} ${text}`)
    return { written: undefined, ...(awaited && { awaited: { spec: awaited, isTransient: error instanceof Problem } }) }
  }
}

/** A reload never deletes data, so removed tables and columns stay until a migration drops them. */
function warnOfLeft({ left, unmade, failed }: Awaited<ReturnType<typeof fitSchema>>, log: Log): void {
  const plan = 'snippetctl migrate plan --write NAME'
  if (unmade.length > 0) {
    const [what, next] = failed
      ? ['additions failed', 'the next reload tries them again']
      : ['not applied', `see: ${plan}`]
    log.warn({ event: 'schema_left', left: unmade, msg: `${what}: ${unmade.join('; ')}; ${next}` })
  }
  if (left.length > 0) {
    const msg = `not applied, because a reload never deletes data: ${left.join(', ')}; to apply: ${plan}`
    log.warn({ event: 'schema_left', left, msg })
  }
}

const LAST_GOOD = 'still serving the last good version'
const UNTIL_IT_FITS = ' until the schema of the database fits, which is checked every second'

function explain(error: unknown, { withConfig }: CliContext): readonly [message: string, help: readonly string[]] {
  if (error instanceof Failure || error instanceof DatabaseRejected) return [error.message, error.help.map(withConfig)]
  if (error instanceof MigrationError) return [error.errors.join('; '), error.help.map(withConfig)]
  if (error instanceof Problem) return [error.message, []]
  return [error instanceof Error ? error.message : String(error), []]
}
