import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildFailure, Loader, Message, Plugin } from 'esbuild'
import { Unloadable, unloadable } from './unloadable.js'

/** The running framework, as plugins import it: there is no second instance. */
export const FRAMEWORK = import.meta.resolve('snippetctl')

const HOME = dirname(fileURLToPath(import.meta.resolve('snippetctl/package.json')))
const INTERNALS = [resolve(HOME, 'src'), resolve(HOME, 'dist')]
const IMPORT_BY_NAME = "the framework's own files are not for plugins to import: import from 'snippetctl'"
const MAX_MISTAKES = 5

/** The file types that plugins may import. */
const LOADERS: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
  '.json': 'json',
}

/** A constant of each module with the properties of `import.meta` that name its file: in a bundle they would name the bundle. */
const SOURCE = '__snippetctl_source'
const SOURCE_NAMES = Object.fromEntries(
  ['url', 'filename', 'dirname'].map((name) => [`import.meta.${name}`, `${SOURCE}.${name}`]),
)

const ADDED = new RegExp(`^const ${SOURCE} = \\{[^}]*\\};`)

/** Adds the constant to a module, on its first line after `#!`. */
function withSource(contents: string, path: string): string {
  const source = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) }
  const [start = ''] = /^#!.*\n/.exec(contents) ?? []
  return `${start}const ${SOURCE} = ${JSON.stringify(source)};${contents.slice(start.length)}`
}

/** Every file that the bundle depends on, with the hash of its content; null if the file must not exist. */
export type Inputs = Map<string, string | null>

/** A name that depends on the content. */
export function hashOf(content: string | Uint8Array): string {
  return hash('sha256', content)
}

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder + sep)
}

/** Whether `path` is a file of the framework; an application inside its folder may use its own folder. */
function isInternal(path: string, own: string): boolean {
  return INTERNALS.some((folder) => isInside(folder, path) && !(isInside(folder, own) && isInside(own, path)))
}

/** Resolves imports between the files of a plugin, and records each file. */
function rules(entry: string, inputs: Inputs): Plugin {
  return {
    name: 'plugin',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^snippetctl(\/|$)/ }, ({ path }) =>
        path === 'snippetctl' ? { path: FRAMEWORK, external: true } : { errors: [{ text: IMPORT_BY_NAME }] },
      )

      onResolve({ filter: /^\.{0,2}\// }, ({ path, resolveDir, importer, kind }) => {
        if (kind === 'entry-point') return undefined
        const target = resolve(resolveDir, path)
        if (isInternal(target, dirname(entry))) return { errors: [{ text: IMPORT_BY_NAME }] }
        // As in tsc, `./a.js` in TypeScript means a.ts if that exists: an a.js next to it is an older compiled file.
        const source = target.replace(/\.(m?)js$/, '.$1ts')
        if (source !== target && /\.m?ts$/.test(importer)) {
          if (existsSync(source)) return { path: source }
          inputs.set(source, null)
        }
        if (!existsSync(target)) inputs.set(target, null)
        return undefined
      })

      onLoad({ filter: /.*/, namespace: 'file' }, async ({ path }) => {
        const loader = LOADERS[extname(path)]
        if (loader === undefined) {
          return {
            errors: [{ text: `plugins may import ${Object.keys(LOADERS).join(', ')} and packages, not ${path}` }],
          }
        }
        // The hash is of the text that is compiled, even if the file changes in the meantime.
        const contents = await readFile(path, 'utf8')
        inputs.set(path, hashOf(contents))
        const namesSource = loader !== 'json' && contents.includes('import.meta')
        return { loader, contents: namesSource ? withSource(contents, path) : contents }
      })
    },
  }
}

/** The number of running builds: they share the process of esbuild. */
let building = 0

/**
 * Compiles a plugin and the files that it imports into one ES module. Imports of packages and of the framework are kept.
 * @param inputs receives the files, also if the plugin has mistakes
 * @throws Unloadable with the file, line and column of each mistake
 */
export async function bundle(entry: string, folder: string, inputs: Inputs): Promise<string> {
  const { build, stop } = await import('esbuild').catch((cause: unknown) => {
    throw unloadable('the compiler for plugins, esbuild, cannot be loaded', ['run `npm ci`'], cause)
  })
  building += 1
  try {
    const { outputFiles } = await build({
      entryPoints: [entry],
      absWorkingDir: folder,
      outfile: resolve(folder, '.snippetctl/plugins/plugin.mjs'),
      bundle: true,
      write: false,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: 'inline',
      charset: 'utf8',
      define: SOURCE_NAMES,
      // The result depends only on the plugin's files, not on a tsconfig.json above them.
      tsconfigRaw: {},
      logLevel: 'silent',
      plugins: [rules(entry, inputs)],
    })
    return outputFiles[0]?.text ?? ''
  } catch (failure) {
    if (!isBuildFailure(failure)) throw failure
    throw new Unloadable(failure.errors.slice(0, MAX_MISTAKES).map(toMistake(folder)), failure)
  } finally {
    building -= 1
    // The process would otherwise run as long as the service.
    if (building === 0) await stop()
  }
}

function isBuildFailure(failure: unknown): failure is BuildFailure {
  return failure instanceof Error && 'errors' in failure
}

function toMistake(folder: string) {
  return ({ text, location }: Message) => {
    const message = text.replaceAll(folder + sep, '')
    if (location === null) return { message, help: [] }
    const file = relative(folder, resolve(folder, location.file))
    const before = Buffer.from(location.lineText).subarray(0, location.column).toString()
    const column = before.replace(ADDED, '').length + 1
    return { message: `${file}:${location.line}:${column}: ${message}`, help: [] }
  }
}
