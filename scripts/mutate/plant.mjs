import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import { buildSync } from 'esbuild'
import { stampOf } from '../build-when-stale.mjs'
import { HOME } from '../sources.mjs'

/** What is mutated. */
export const FOLDERS = ['src/resource', 'src/config', 'src/http']

/** What is not copied: it is large, or belongs to this checkout alone. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.snippetctl', '.git', 'coverage'])
/** The programs that tests start, with the module that each imports first. */
const PROGRAMS = {
  'bin/start.mjs': '../scripts/mutate/started.mjs',
  'scripts/jest/command-host.mjs': '../mutate/started-host.mjs',
}
const QUIET = { isDebugEnabled: () => false, debug() {}, info() {}, warn: console.warn }
const OPTIONS = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false }

/**
 * Copies the checkout and puts every mutant into the copy, each asleep behind a switch.
 * @returns the folder of the copy, the mutants, and a print of the sources that they are in
 */
export async function plant() {
  const place = join(HOME, '.snippetctl', 'mutate')
  const folder = join(place, 'copy')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(HOME)) {
    if (!LEFT_OUT.has(name)) cpSync(join(HOME, name), join(folder, name), { recursive: true, filter: isWanted })
  }
  symlinkSync(join(HOME, 'node_modules'), join(folder, 'node_modules'))
  const files = FOLDERS.flatMap((part) => typescriptIn(join(folder, part))).map((name) => {
    return { name, mutate: true, content: readFileSync(name, 'utf8') }
  })
  const print = createHash('sha256')
    .update(files.map(({ content }) => content).join('\0'))
    .digest('hex')
    .slice(0, 16)
  const planted = await new Instrumenter(QUIET).instrument(files, OPTIONS)
  for (const { name, content } of planted.files) writeFileSync(name, content)
  writeFileSync(join(folder, 'jest.mutate.mjs'), JEST)
  buildPrograms(folder)
  const mutants = planted.mutants.map(({ id, fileName, mutatorName, replacement, location: { start, end } }) => ({
    id,
    file: relative(folder, fileName),
    line: start.line + 1,
    column: start.column + 1,
    mutator: mutatorName,
    replacement: replacement.slice(0, 100),
    original: originalOf(files.find(({ name }) => name === fileName).content, start, end),
  }))
  return { place, folder, mutants, print }
}

/** Compiles the copy, mutants and all, and has the programs that tests start wake them. Types are not checked: mutants change them. */
function buildPrograms(folder) {
  const dist = join(folder, 'dist')
  buildSync({
    entryPoints: ['src', 'cli'].flatMap((part) => typescriptIn(join(folder, part))),
    outdir: dist,
    outbase: folder,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  })
  execFileSync(process.execPath, [join(folder, 'scripts/bundle.mjs'), dist])
  writeFileSync(join(dist, '.stamp'), stampOf(join(folder, '/')))
  for (const [program, first] of Object.entries(PROGRAMS)) {
    const file = join(folder, program)
    writeFileSync(file, `import '${first}'\n${readFileSync(file, 'utf8')}`)
  }
}

function isWanted(path) {
  return !LEFT_OUT.has(basename(path))
}

function originalOf(content, start, end) {
  const lines = content.split('\n').slice(start.line, end.line + 1)
  if (start.line === end.line) return lines[0].slice(start.column, end.column).slice(0, 100)
  return `${lines[0].slice(start.column)} …`.slice(0, 100)
}

function typescriptIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/** The unchanged tests, in an isolated environment that activates mutants, with a runner that runs selected tests. */
const JEST = `import usual from './jest.config.js'

// Mutants also are in code that runs when a module is loaded, so each test file loads all modules.
const { runtime: _shared, ...isolated } = usual

export default {
  ...isolated,
  testEnvironment: '<rootDir>/scripts/mutate/environment.mjs',
  runner: '<rootDir>/scripts/mutate/runner.mjs',
  reporters: [],
  testTimeout: 20_000,
}
`
