import { stat } from 'node:fs/promises'
import { dirname, extname, isAbsolute, relative, resolve, sep } from 'node:path'
import { isNativeError } from 'node:util/types'
import type { Rejection } from '../config/parse/rejection.js'
import type { AppSpec } from '../config/spec.js'
import type { Plugin } from '../http/registrations/plugin.js'
import { FRAMEWORK, type Inputs } from './bundle.js'
import { compiledFrom, importCompiled } from './compiled.js'
import { errorPlace } from './place.js'
import { Unloadable, unloadable } from './unloadable.js'

/** A plugin and the place in resources.yaml that names it. */
export interface LoadedPlugin {
  /** As written. */
  readonly path: string
  readonly register: Plugin
}

export interface LoadedPlugins {
  readonly plugins: readonly LoadedPlugin[]
  /** The names of their compiled forms, which depend on the text. */
  readonly compiled: readonly string[]
  /** Every plugin that cannot be loaded; the application is complete only if there is none. */
  readonly rejections: readonly Rejection[]
}

/** Imports the plugin in `file`, which exists in or below `folder`. If it is compiled, `onCompiled` gets the name of the compiled form. */
export type ImportModule = (file: string, folder: string, onCompiled: (name: string) => void) => Promise<unknown>

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']
const MODULE_NOT_FOUND: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])
const LOAD_TIMEOUT_MS = 10_000
const EXAMPLE = 'export default (app) => { … }'

/**
 * Loads the plugins of a spec one after the other, in order. All plugins that cannot be loaded are reported, each at
 * its place in the configuration. A plugin may take `timeout` milliseconds to load.
 */
export async function loadPlugins(
  spec: Pick<AppSpec, 'file' | 'plugins'>,
  importModule: ImportModule = importCompiled,
  timeout: number = LOAD_TIMEOUT_MS,
): Promise<LoadedPlugins> {
  const folder = dirname(spec.file)
  const plugins: LoadedPlugin[] = []
  const compiled: string[] = []
  const rejections: Rejection[] = []
  for (const [index, path] of spec.plugins.entries()) {
    try {
      const file = await findFile(path, folder)
      const imported = importModule(file, folder, (name) => void compiled.push(name))
      const module = await within(timeout, path, imported)
      plugins.push({ path, register: registerOf(module, path) })
    } catch (error) {
      const { mistakes } = error instanceof Unloadable ? error : failedImport(error, path, folder)
      rejections.push(
        ...mistakes.map((each) => ({ ...each, code: 'SC353', part: 'value', path: ['plugins', index] }) as const),
      )
    }
  }
  return { plugins, compiled, rejections }
}

/** The known files of the plugins of a spec, including the files that they import, as they were last compiled. */
export async function pluginFiles({ file, plugins }: Pick<AppSpec, 'file' | 'plugins'>): Promise<Inputs> {
  const folder = dirname(file)
  const files = await Promise.all(plugins.map((path) => compiledFrom(resolve(folder, path), folder)))
  return new Map(files.flatMap((inputs) => [...inputs]))
}

async function findFile(path: string, folder: string): Promise<string> {
  const example = 'plugins are named relative to the folder of the configuration: `./plugins/orders.ts`'
  if (isAbsolute(path)) throw unloadable(`the plugin \`${path}\` is an absolute path`, [example])
  const file = resolve(folder, path)
  if (!file.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
    throw unloadable(`the plugin \`${path}\` lies outside of the folder of the configuration`, [example])
  }
  if (!EXTENSIONS.includes(extname(path))) {
    throw unloadable(`the plugin \`${path}\` is not a file of a kind that can be loaded`, [
      `plugins are ${EXTENSIONS.join(', ')} files`,
    ])
  }
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) throw unloadable(`there is no plugin \`${path}\``, await twins(file, folder))
  if (!found.isFile())
    throw unloadable(`the plugin \`${path}\` is not a file`, [`name a ${EXTENSIONS.join(', ')} file`])
  return file
}

/** Help for a path that is wrong only in its extension. */
async function twins(file: string, folder: string): Promise<string[]> {
  const others = EXTENSIONS.map((extension) => file.slice(0, -extname(file).length) + extension)
  const found = await Promise.all(
    others.map((other) =>
      stat(other).then(
        () => [other],
        () => [],
      ),
    ),
  )
  const names = found.flat().map((other) => `a file with a similar name exists: \`./${relative(folder, other)}\``)
  return names.length > 0 ? names : [`the path resolves to ${file}`]
}

async function within<Result>(milliseconds: number, path: string, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<never>((_settle, reject) => {
    timer = setTimeout(() => {
      const help = ['the module has a top-level await that does not resolve']
      reject(unloadable(`the plugin \`${path}\` did not load within ${milliseconds / 1000} s`, help))
    }, milliseconds)
  })
  try {
    return await Promise.race([work, overdue])
  } finally {
    clearTimeout(timer)
  }
}

function registerOf(module: unknown, path: string): Plugin {
  const exports = Object.entries(module ?? {})
  const register: unknown = exports.find(([name]) => name === 'default')?.[1]
  if (typeof register === 'function') return register as Plugin
  const found = exports.map(([name, value]) => `\`${name}\` (${value === null ? 'null' : typeof value})`).join(', ')
  throw unloadable(`the plugin \`${path}\` exports ${found || 'nothing'}; its default export must be a function`, [
    EXAMPLE,
  ])
}

/** The error of a plugin during its import: its message, and the line of the plugin where it occurred. */
function failedImport(error: unknown, path: string, folder: string): Unloadable {
  if (!isNativeError(error)) return unloadable(`the plugin \`${path}\` threw ${String(error)} while it was loaded`)
  if ('code' in error && MODULE_NOT_FOUND.has(error.code)) {
    const missing = error.message.replace(/( imported)? from .*|\n.*/s, '')
    return unloadable(
      `the plugin \`${path}\` could not be loaded: ${missing}`,
      ['install the package next to the configuration'],
      error,
    )
  }
  const words = error.message.replaceAll(FRAMEWORK, 'snippetctl')
  return unloadable(
    `${placeWhileLoading(error, folder) ?? path}: the plugin failed while it was loaded: ${error.name}: ${words}`,
    [],
    error,
  )
}

/** Only the frames of the module itself, not of the code that imports it. */
function placeWhileLoading({ stack = '', name, message }: Error, folder: string): string | undefined {
  const [own = ''] = stack.split(importCompiled.name)
  return errorPlace({ stack: own, name, message }, folder)
}
