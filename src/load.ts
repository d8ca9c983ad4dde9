import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { type App, compileApp } from './application.js'
import { checkConfig } from './config/parse/check.js'
import { checkBodyLimits } from './resource/body-limit.js'
import { checkCoverage } from './config/indexes/check-coverage.js'
import { MAX_CONFIG_BYTES } from './config/yaml/decode.js'
import type { Diagnostic } from './config/diagnostic.js'
import { type ConfigDocument, readConfig } from './config/yaml/document.js'
import type { Refusal } from './config/parse/refusal.js'
import { diagnosticAt } from './config/parse/report.js'
import type { AppSpec } from './config/spec.js'
import { type Close, closeOnce } from './http/server/closing.js'
import { type ImportModule, loadPlugins } from './plugins/load.js'
import type { Environment } from './settings.js'

interface LoadOptions {
  /** Absolute path of resources.yaml. */
  readonly file: string
  readonly env: Environment
  /** How a plugin's module is imported; left out, TypeScript is compiled first. */
  readonly importModule?: ImportModule
  /** Whether to look also for mistakes that cannot come with a start: defaults of settings that do not fit. True when left out. */
  readonly judgeDefaults?: boolean
}

/** Everything that is wrong with a configuration, and the text the positions point into. */
interface Refused {
  readonly ok: false
  readonly diagnostics: readonly Diagnostic[]
  readonly source: string
}

/** What plugins may have opened while they registered, whether all of them could or not. */
interface Closable {
  /** Runs what they registered by `onClose`, once. A service calls it for the applications that it has served. */
  readonly close: Close
}

/** What a configuration says, without its plugins. */
export type LoadedSpec = { readonly ok: true; readonly spec: AppSpec } | Refused

interface Loaded extends Closable {
  readonly ok: true
  readonly app: App
  readonly spec: AppSpec
  readonly source: string
  /** What speaks against a configuration that works: what it says itself, and `more`, found elsewhere. */
  warnings(more?: readonly Refusal[]): readonly Diagnostic[]
}

/** An application, or what is wrong with its configuration. */
export type LoadedApplication = Loaded | (Refused & Closable)

/**
 * resources.yaml → spec, for who needs the models and serves nothing. Runs no plugin.
 * @throws as `loadApplication` does
 */
export async function loadSpec(file: string): Promise<LoadedSpec> {
  const read = await readSpec(file)
  return 'spec' in read ? { ok: true, spec: read.spec } : read
}

/**
 * resources.yaml → application. Opens no database.
 * @throws the system's error when the file cannot be read, and an Error when it is no file
 */
export async function loadApplication({
  file,
  env,
  importModule,
  judgeDefaults = true,
}: LoadOptions): Promise<LoadedApplication> {
  const read = await readSpec(file)
  if (!('spec' in read)) return { ...read, close: closeOnce([]) }
  const { spec, document, source, refuse } = read
  const { plugins, refusals } = await loadPlugins(spec, importModule)
  if (refusals.length > 0) return { ...refuse(locate(document, refusals)), close: closeOnce([]) }
  const compiled = compileApp(spec, plugins, { env, judgeDefaults })
  if ('refusals' in compiled) {
    const { refusals, close } = compiled
    return { ...refuse(locate(document, refusals)), close }
  }
  const { app } = compiled
  const warnings = (more: readonly Refusal[] = []) =>
    locate(document, [...checkCoverage(document, spec), ...checkBodyLimits(spec), ...more], 'warning')
  return { ok: true, app, spec, source, warnings, close: app.close }
}

async function readSpec(file: string) {
  const bytes = await readBounded(file)
  const source = Buffer.from(bytes).toString()
  const refuse = (diagnostics: readonly Diagnostic[]): Refused => ({ ok: false, diagnostics, source })
  const document = readConfig(bytes, file)
  if (isRefused(document)) return refuse(document)
  const spec = checkConfig(document)
  return isRefused(spec) ? refuse(spec) : { spec, document, source, refuse }
}

/** One byte more than is allowed tells that there are too many; a file that never ends is never read to its end. */
async function readBounded(file: string): Promise<Uint8Array> {
  // A FIFO would keep `open` waiting for somebody to write to it.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_CONFIG_BYTES + 1), 0, MAX_CONFIG_BYTES + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

function isRefused<T extends ConfigDocument | AppSpec>(
  result: T | readonly Diagnostic[],
): result is readonly Diagnostic[] {
  return Array.isArray(result)
}

function locate(
  document: ConfigDocument,
  refusals: readonly Refusal[],
  severity: Diagnostic['severity'] = 'error',
): readonly Diagnostic[] {
  const diagnostics = refusals.map((refusal) => diagnosticAt(document, refusal, severity))
  return diagnostics.toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}
