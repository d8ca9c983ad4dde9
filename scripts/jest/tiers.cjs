/**
 * What a test file needs, found by its imports, so that no list of files can be out of date. A file that reaches
 * `node:child_process` starts processes. A file that reaches one of the two helpers that know databases uses one.
 */
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join, resolve } = require('node:path')

const SUPPORT = resolve(__dirname, '../../test/support')
const DATABASES = [join(SUPPORT, 'database.ts'), join(SUPPORT, 'servers.ts')]
const PROCESSES = new Set(['node:child_process', 'node:cluster'])
/** Types are not loaded. */
const IMPORT =
  /^import\b(?! type\b)[^'"]*['"]([^'"]+)['"]|^export\b(?! type\b)[^'"()=]* from ['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|^\} from ['"]([^'"]+)['"]/gm

/** Whether a test file uses the database under test, or a server that it starts itself. */
const usesDatabase = (file) => DATABASES.some((helper) => reachOf(file).has(helper))

/** Whether a test file starts processes. */
const startsProcesses = (file) => [...reachOf(file)].some((name) => PROCESSES.has(name))

/** The test files and helpers that a test file imports, directly or not, and the modules of Node among them. */
function reachOf(file) {
  const reach = new Set()
  const visit = (name) => {
    if (reach.has(name)) return
    reach.add(name)
    if (existsSync(name)) importsOf(name).forEach(visit)
  }
  visit(resolve(file))
  return reach
}

const known = new Map()

function importsOf(file) {
  const imports = known.get(file) ?? readImports(file)
  known.set(file, imports)
  return imports
}

function readImports(file) {
  const names = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, ...found]) => found.find(Boolean))
  return names.flatMap((name) => {
    if (PROCESSES.has(name)) return [name]
    const path = join(dirname(file), name.replace(/\.js$/, '.ts'))
    // The program is what all of them test. What a helper is decides.
    return name.startsWith('.') && path.includes('/test/') ? [path] : []
  })
}

module.exports = { startsProcesses, usesDatabase }
