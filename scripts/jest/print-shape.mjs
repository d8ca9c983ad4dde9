/** Prints the code that takes the place of `src/config/schema/shape-validator.ts` in tests, without imports. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { compileShape } from '../compile-shape.mjs'
import { HOME } from '../sources.mjs'

const SCHEMA = `export { configSchema } from './schema.js'; export { SHAPE_OPTIONS } from './shape-validator.js'`
const COMMON = { bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'warning' }

const folder = join(HOME, '.snippetctl', 'tests')
const outfile = join(folder, `schema-${process.pid}.mjs`)
mkdirSync(folder, { recursive: true })
try {
  const stdin = { contents: SCHEMA, resolveDir: join(HOME, 'src', 'config', 'schema'), loader: 'ts' }
  buildSync({ ...COMMON, stdin, packages: 'external', outfile })
  const { configSchema, SHAPE_OPTIONS: options } = await import(pathToFileURL(outfile).href)
  const contents = compileShape({ configSchema, options })
  const { outputFiles } = buildSync({ ...COMMON, stdin: { contents, resolveDir: HOME }, write: false })
  process.stdout.write(outputFiles[0].text)
} finally {
  rmSync(outfile, { force: true })
}
