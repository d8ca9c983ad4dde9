/**
 * Runs the tests with other versions of Node than the one at hand: `npm run test:nodes -- [arguments of the tests]`. Their programs
 * come from the package registry, and are kept in node_modules/.cache.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSIONS = ['22.23.3', '24.21.0', '26.10.0']
const PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const failed = VERSIONS.filter((version) => {
  const program = install(version)
  console.log(`\nNode ${spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim()}`)
  const env = { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env.PATH}` }
  const jest = ['--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
  return spawnSync(program, [...jest, ...process.argv.slice(2)], { env, stdio: 'inherit' }).status !== 0
})
console.log(failed.length === 0 ? `\npassed: ${VERSIONS.join(', ')}` : `\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/** @returns the path of the program */
function install(version) {
  const folder = resolve('node_modules', '.cache', 'snippetctl', 'nodes', version)
  const program = join(folder, 'node_modules', PACKAGE, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(program)) return program
  const npm = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', [...npm, `${PACKAGE}@${version}`], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`${PACKAGE} ${version} cannot be installed`)
  return program
}
