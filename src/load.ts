import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { type App, compileApp } from './application.js'
import { checkKeyFile } from './auth/key-file.js'
import { checkAccessEffects } from './config/parse/access-effects.js'
import { checkConfig } from './config/parse/check/check.js'
import { checkBodyLimits } from './resource/bodies/body-limit.js'
import { checkCoverage } from './config/indexes/check-coverage.js'
import { MAX_CONFIG_BYTES } from './config/yaml/decode.js'
import type { Diagnostic } from './config/diagnostic.js'
import { type ConfigDocument, readConfig } from './config/yaml/document.js'
import { checkDialectGaps } from './config/parse/dialect-gaps.js'
import { checkReplacedPages } from './config/parse/replaced-pages.js'
import type { Rejection } from './config/parse/rejection.js'
import { diagnosticAt } from './config/parse/report.js'
import type { AppSpec } from './config/spec.js'
import { type Close, closeOnce } from './http/server/closing.js'
import { type ImportModule, loadPlugins } from './plugins/load.js'
import type { Environment } from './settings.js'

interface LoadOptions {
  /** The absolute path of resources.yaml. */
  readonly file: string
  readonly env: Environment
  /** How plugin modules are imported; by default, TypeScript is compiled first. */
  readonly importModule?: ImportModule
  /** Whether to validate the defaults of settings, too; the default is true. */
  readonly checkDefaults?: boolean
}

/** All mistakes in a configuration, and the text that their positions refer to. */
interface Rejected {
  readonly ok: false
  readonly diagnostics: readonly Diagnostic[]
  readonly source: string
}

/** What plugins may have opened during registration, even if it failed. */
interface Closable {
  /** Runs the `onClose` callbacks, once. A service calls it for the applications that it has served. */
  readonly close: Close
}

/** A configuration without its plugins. */
export type LoadedSpec = { readonly ok: true; readonly spec: AppSpec } | Rejected

interface Loaded extends Closable {
  readonly ok: true
  readonly app: App
  readonly spec: AppSpec
  readonly source: string
  /** The names of the compiled plugins, which depend on their text. */
  readonly compiled: readonly string[]
  /** Warnings for a valid configuration, plus any passed in `more`. */
  warnings(more?: readonly Rejection[]): readonly Diagnostic[]
}

/** An application, or the mistakes in its configuration. */
export type LoadedApplication = Loaded | (Rejected & Closable)

/**
 * Loads only the spec, for callers that need the models but serve nothing. Runs no plugins.
 * @throws like `loadApplication`
 */
export async function loadSpec(file: string): Promise<LoadedSpec> {
  const read = await readSpec(file)
  return 'spec' in read ? { ok: true, spec: read.spec } : read
}

/**
 * Loads an application from resources.yaml. Opens no database.
 * @throws the system's error if the file cannot be read, and an Error if it is not a file
 */
export async function loadApplication({
  file,
  env,
  importModule,
  checkDefaults = true,
}: LoadOptions): Promise<LoadedApplication> {
  const read = await readSpec(file)
  if (!('spec' in read)) return { ...read, close: closeOnce([]) }
  const { spec, document, source, reject } = read
  const { plugins, compiled, rejections: unloaded } = await loadPlugins(spec, importModule)
  const rejections = [...checkKeyFile(spec), ...unloaded]
  if (rejections.length > 0) return { ...reject(locate(document, rejections)), close: closeOnce([]) }
  const application = compileApp(spec, plugins, { env, checkDefaults })
  if ('rejections' in application) {
    const { rejections, close } = application
    return { ...reject(locate(document, rejections)), close }
  }
  const { app } = application
  const warnings = (more: readonly Rejection[] = []) =>
    locate(
      document,
      [
        ...checkDialectGaps(document, spec),
        ...checkCoverage(document, spec),
        ...checkBodyLimits(spec),
        ...checkAccessEffects(
          document,
          spec,
          [...app.routes].flatMap(({ action }) => action ?? []),
        ),
        ...checkReplacedPages(spec),
        ...more,
      ],
      'warning',
    )
  return { ok: true, app, spec, source, compiled, warnings, close: app.close }
}

async function readSpec(file: string) {
  const bytes = await readBounded(file)
  const source = Buffer.from(bytes).toString()
  const reject = (diagnostics: readonly Diagnostic[]): Rejected => ({ ok: false, diagnostics, source })
  const document = readConfig(bytes, file)
  if (isRejected(document)) return reject(document)
  const spec = checkConfig(document)
  return isRejected(spec) ? reject(spec) : { spec, document, source, reject }
}

/** Reads one byte more than is allowed, to detect larger files without reading endless ones. */
async function readBounded(file: string): Promise<Uint8Array> {
  // Otherwise `open` would wait for a writer of a FIFO.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_CONFIG_BYTES + 1), 0, MAX_CONFIG_BYTES + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

function isRejected<T extends ConfigDocument | AppSpec>(
  result: T | readonly Diagnostic[],
): result is readonly Diagnostic[] {
  return Array.isArray(result)
}

function locate(
  document: ConfigDocument,
  rejections: readonly Rejection[],
  severity: Diagnostic['severity'] = 'error',
): readonly Diagnostic[] {
  const diagnostics = rejections.map((rejection) => diagnosticAt(document, rejection, severity))
  return diagnostics.toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}
