/**
 * Makes of the modules that the compiler wrote the few files that a start reads: opening some three hundred takes longer than running
 * them. What a request rarely needs stays a package, and is loaded when it is first needed.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { compileShape } from './compile-shape.mjs'
import { shrinkAssets } from './shrink-assets.mjs'

/** The files that are imported by path; chunks hold the rest. The command, plugins and tests share one instance of the framework. */
const ENTRIES = [
  'cli/main.js',
  'cli/run.js',
  'src/index.js',
  'src/testing.js',
  'src/internal.js',
  'src/config/schema/editors.js',
]
/** The types that plugins and their tests import. */
const TYPES = ['src/index.d.ts', 'src/testing.d.ts']
const LOADED_WHEN_NEEDED = ['@electric-sql/pglite', 'esbuild', 'express', 'objection', 'prom-client']
/** The files with the validators of configurations, and the module that loads them. */
const SHAPES = { quick: 'quick-shape.cjs', whole: 'whole-shape.cjs' }
const SHAPE_VALIDATOR = `
import { createRequire } from 'node:module'
const load = createRequire(import.meta.url)
const isValid = load('./${SHAPES.quick}')
export function validateShape(value) {
  if (isValid(value)) return true
  const validate = load('./${SHAPES.whole}')
  const accepted = validate(value)
  validateShape.errors = validate.errors
  return accepted
}`
/** Another driver, which only somebody who installs it has. */
const OPTIONAL = ['pg-native']

// What has not all of them is not this program: it stays as the compiler wrote it.
const home = resolve(process.argv[2] ?? 'dist')
if (ENTRIES.every((entry) => existsSync(join(home, entry)))) await bundle()

async function bundle() {
  await writeShape(join(home, 'src', 'config', 'schema'))
  await writeAssets(join(home, 'src', 'explore', 'assets', 'asset-texts.js'))
  removeUnusedTypes()
  const before = filesIn(home, /\.js(\.map)?$/)
  const { metafile } = buildSync({
    absWorkingDir: home,
    entryPoints: ENTRIES,
    outdir: '.',
    outbase: '.',
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: [...LOADED_WHEN_NEEDED, ...OPTIONAL],
    // Every start reads it. Names and lines stay for stack traces.
    minifyWhitespace: true,
    lineLimit: 160,
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    // The driver asks whether it runs at Cloudflare's, and where there is no `navigator`, as on Node 20, it has Node load all of fetch.
    define: { navigator: '{"userAgent":"Node.js"}' },
    // Packages in CommonJS require Node's own modules.
    banner: {
      js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
    },
    logLevel: 'warning',
  })
  const made = new Set(Object.keys(metafile.outputs))
  const loader = [...made].find(
    (file) => file.endsWith('.js') && readFileSync(join(home, file), 'utf8').includes(SHAPES.whole),
  )
  if (loader === undefined || loader.includes('/'))
    throw new Error(`${SHAPES.whole} is not next to the file that loads it: ${loader}`)
  for (const file of before) if (!made.has(file)) rmSync(join(home, file))
  for (const file of made) if (file.endsWith('.js')) escape(join(home, file))
}

/** Of what esbuild leaves as it is, comments and regular expressions: one wide character doubles the memory of the whole text. */
function escape(file) {
  const text = readFileSync(file, 'utf8')
  const escaped = text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (escaped !== text) writeFileSync(file, escaped)
}

function filesIn(folder, name) {
  const files = readdirSync(folder, { recursive: true }).map((file) => file.replaceAll('\\', '/'))
  return files.filter((file) => name.test(file))
}

/** Removes the declarations of modules that no public type leads to. */
function removeUnusedTypes() {
  const used = new Set(TYPES)
  for (const file of used)
    for (const [, path] of readFileSync(join(home, file), 'utf8').matchAll(
      /(?:from|import)[ (]*['"](\.[^'"]+)\.js['"]/g,
    ))
      used.add(posix.join(posix.dirname(file), `${path}.d.ts`))
  for (const file of filesIn(home, /\.d\.ts$/)) if (!used.has(file)) rmSync(join(home, file))
}

/**
 * Puts code that Ajv generates from the schema in place of the module that lets Ajv compile it. It is not bundled: the code for invalid configurations
 * is a megabyte, which other starts do not read.
 */
async function writeShape(folder) {
  const load = (name) => import(pathToFileURL(join(folder, name)).href)
  const { configSchema } = await load('schema.js')
  const { SHAPE_OPTIONS: options } = await load('shape-validator.js')
  for (const [name, code] of Object.entries(compileShape({ configSchema, options })))
    buildSync({
      // Parts of Ajv's runtime are bundled with the code.
      stdin: { contents: code, resolveDir: import.meta.dirname },
      outfile: join(home, SHAPES[name]),
      bundle: true,
      minify: true,
      platform: 'node',
      target: 'node20',
    })
  writeFileSync(join(folder, 'shape-validator.js'), SHAPE_VALIDATOR)
  rmSync(join(folder, 'shape-validator.js.map'), { force: true })
}

/** Puts the files of Explore in few bytes in place of the module that has them as they were written. */
async function writeAssets(file) {
  const { TEXTS } = await import(pathToFileURL(file).href)
  writeFileSync(file, shrinkAssets(TEXTS))
  rmSync(`${file}.map`, { force: true })
}
