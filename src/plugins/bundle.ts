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
const IMPORT_NOT_REQUIRE = "`require` cannot load 'snippetctl': import it"
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

/** A constant of each module with the names and functions that depend on its file: in a bundle they would belong to the bundle. */
const SOURCE = '__snippetctl_source'
const SOURCE_NAMES = {
  ...Object.fromEntries(
    ['url', 'filename', 'dirname', 'resolve'].map((name) => [`import.meta.${name}`, `${SOURCE}.${name}`]),
  ),
  // Of CommonJS modules.
  ...Object.fromEntries(['filename', 'dirname'].map((name) => [`__${name}`, `${SOURCE}.${name}`])),
}
const NAMES_SOURCE = /import\.meta|__(?:file|dir)name/
const NAMES_RESOLVE = /import\.meta\W{1,4}resolve/
/** A function of the bundle: `import.meta` in a file would make it an ES module, even if it names `import.meta` only in a comment. */
const RESOLVE = '__snippetctl_resolve'

const ADDED = new RegExp(`^const ${SOURCE} = .*?/\\* ${SOURCE} \\*/;`)

function shebangOf(contents: string): string {
  return /^#!.*\n/.exec(contents)?.[0] ?? ''
}

/** Adds the constant to a module, on its first line after `#!`. */
function withSource(contents: string, path: string): string {
  const url = JSON.stringify(pathToFileURL(path).href)
  const members = [`url: ${url}`, `filename: ${JSON.stringify(path)}`, `dirname: ${JSON.stringify(dirname(path))}`]
  if (NAMES_RESOLVE.test(contents)) members.push(`resolve: (name) => ${RESOLVE}(name, ${url})`)
  const start = shebangOf(contents)
  return `${start}const ${SOURCE} = { ${members.join(', ')} } /* ${SOURCE} */;${contents.slice(start.length)}`
}

/** Part of the function by which esbuild replaces `require` in an ES module, unless there is one. */
const NO_REQUIRE = 'Dynamic require of "'

/**
 * Adds what the modules of a bundle use: `require`, by which CommonJS modules load packages, and the function that resolves names. The first line
 * of such a bundle after `#!` is of no source file.
 */
function withShared(code: string, entry: string): string {
  const create = '__snippetctl_create_require'
  const from = JSON.stringify(pathToFileURL(entry).href)
  const shared = [
    ...(code.includes(NO_REQUIRE)
      ? [`import { createRequire as ${create} } from 'node:module'; const require = ${create}(${from});`]
      : []),
    // Packages are resolved as in imports of the bundle.
    ...(code.includes(RESOLVE)
      ? [`const ${RESOLVE} = (name, url) => /^[./]/.test(name) ? new URL(name, url).href : import.meta.resolve(name);`]
      : []),
  ]
  if (shared.length === 0) return code
  const start = shebangOf(code)
  return `${start}${shared.join(' ')} ${code.slice(start.length)}`
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
      onResolve({ filter: /^snippetctl(\/|$)/ }, ({ path, kind }) => {
        if (path !== 'snippetctl') return { errors: [{ text: IMPORT_BY_NAME }] }
        if (kind === 'require-call') return { errors: [{ text: IMPORT_NOT_REQUIRE }] }
        return { path: FRAMEWORK, external: true }
      })

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
        const namesSource = loader !== 'json' && NAMES_SOURCE.test(contents)
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
      // A path with `*` would be a pattern.
      entryPoints: [`./${relative(folder, entry)}`],
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
    return withShared(outputFiles[0]?.text ?? '', entry)
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
