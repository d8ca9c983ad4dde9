/**
 * Compiles src/ and cli/ into dist/, and bundles them there, when dist/ was made from other sources than the ones that are there now.
 * Several processes may ask at once: one builds, the others wait for it, and dist/ is only ever replaced as a whole.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, sep } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { HOME, isUntouched, look, noteSeen, sourcesOf } from './sources.mjs'

const LONGEST_BUILD_MS = 120_000

/**
 * Rebuilds dist/ if it differs from the sources.
 * @param {{ home?: string, force?: boolean }} options `home`: the checkout; `force`: compile even when nothing changed
 * @returns {Promise<{ ok: true, built: boolean } | { ok: false, reason: string }>} the reason is a text for a person
 */
export async function buildWhenStale({ home = HOME, force = false } = {}) {
  if (!force && isCurrent(home)) return { ok: true, built: false }
  const compiler = findCompiler(home)
  if (compiler === undefined) return withoutCompiler(home)
  const release = await takeLock(join(home, 'dist.lock'))
  try {
    // Another process may have built while this one waited.
    if (!force && isCurrent(home)) return { ok: true, built: false }
    return build(home, compiler)
  } finally {
    release()
  }
}

/** A digest of every file that the compiled program depends on: contents, not times, so that a copy or a checkout stays current. */
export function stampOf(home) {
  const digest = createHash('sha256')
  for (const file of sourcesOf(home)) {
    digest
      .update(`${file.slice(home.length).replaceAll(sep, '/')}\0`)
      .update(readFileSync(file))
      .update('\0')
  }
  return digest.digest('hex')
}

function isCurrent(home) {
  if (isUntouched(home)) return true
  const looks = look(home)
  if (readStamp(home) !== stampOf(home)) return false
  noteSeen(home, looks)
  return true
}

function readStamp(home) {
  const file = join(home, 'dist', '.stamp')
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function findCompiler(home) {
  const manifest = join(home, 'node_modules', 'typescript-7', 'package.json')
  if (!existsSync(manifest)) return undefined
  return join(manifest, '..', createRequire(manifest)('./package.json').bin.tsc)
}

function withoutCompiler(home) {
  if (!existsSync(join(home, 'dist', 'cli', 'main.js'))) {
    return {
      ok: false,
      reason: 'snippetctl is not compiled yet and the TypeScript compiler is not installed: run `npm ci`.',
    }
  }
  console.error(
    'snippetctl: the compiled program is older than its sources and the TypeScript compiler is not installed.',
  )
  return { ok: true, built: false }
}

function build(home, compiler) {
  const looks = look(home)
  const stamp = stampOf(home)
  const fresh = join(home, `dist.new-${process.pid}`)
  rmSync(fresh, { recursive: true, force: true })
  const steps = [
    [compiler, '-p', join(home, 'tsconfig.json'), '--outDir', fresh],
    [join(home, 'scripts', 'bundle.mjs'), fresh],
  ]
  for (const step of steps) {
    const { status, error, stdout, stderr } = spawnSync(process.execPath, step, { encoding: 'utf8' })
    if (status === 0) continue
    rmSync(fresh, { recursive: true, force: true })
    const said = error?.message ?? `${stdout}${stderr}`.trimEnd()
    return { ok: false, reason: `${said}\nsnippetctl does not compile; dist/ is as it was.` }
  }
  writeFileSync(join(fresh, '.stamp'), stamp)
  replace(join(home, 'dist'), fresh)
  noteSeen(home, looks)
  return { ok: true, built: true }
}

function replace(target, fresh) {
  const old = `${fresh}.old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
}

/** Waits until this process holds the lock file; a lock whose process is gone, or that is older than any build, is taken over. */
async function takeLock(path) {
  for (;;) {
    try {
      const file = openSync(path, 'wx')
      writeSync(file, String(process.pid))
      closeSync(file)
      return () => rmSync(path, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isAbandoned(path)) rmSync(path, { force: true })
    else await wait(50)
  }
}

function isAbandoned(path) {
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > LONGEST_BUILD_MS) return true
  // A lock without a number is being written at this moment.
  const owner = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0
  return owner > 0 && !isAlive(owner)
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const built = await buildWhenStale({ force: process.argv.includes('--force') })
  if (!built.ok) console.error(built.reason)
  process.exitCode = built.ok ? 0 : 2
}
