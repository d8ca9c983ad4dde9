/**
 * Transforms `shape-validator.ts` for tests as the build does: into the code that Ajv generates. Compiling the schema takes 0.4 s, and
 * every test file would do it again. Jest caches the result until a source changes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { HOME, look } from '../sources.mjs'

const PRINTER = fileURLToPath(new URL('print-shape.mjs', import.meta.url))

export default {
  /** The schema is made of field types, pagination styles and more: any source may change it. */
  getCacheKey(text, path) {
    return createHash('sha256')
      .update(`${path}\0${text}\0${look(HOME)}`)
      .digest('hex')
  },

  // Jest transforms synchronously.
  process() {
    return { code: execFileSync(process.execPath, [PRINTER], { encoding: 'utf8', maxBuffer: 2 ** 25 }) }
  },
}
