import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { PGlite } from '@electric-sql/pglite'

/** Extensions of PostgreSQL's module `spi`, which come in one bundle. */
const SPI = ['autoinc', 'insert_username', 'moddatetime', 'refint']

const BLOCK = 512

/** A file of a bundle, with its path relative to the PostgreSQL installation. */
interface BundleFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** Extensions already loaded into a running PGlite; they are gone when its process ends. */
const loaded = new WeakMap<PGlite, Set<string>>()

/**
 * Makes extensions, and those that they require, available to `create extension` in a running PGlite. PGlite ships the extensions of PostgreSQL as
 * bundles; for others PostgreSQL reports its own error.
 */
export async function loadExtensions(pglite: PGlite, names: readonly string[]): Promise<void> {
  const done = loaded.get(pglite) ?? new Set<string>()
  loaded.set(pglite, done)
  for (const name of names) {
    const bundle = bundleOf(name)
    if (bundle === undefined || done.has(name)) continue
    done.add(name)
    const files = await readBundle(bundle)
    for (const file of files) await put(pglite, file)
    await loadExtensions(pglite, requiredBy(name, files))
  }
}

/** Loads the extensions that a newly opened database uses. */
export async function loadInstalled(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ extname: string }>(
    `select extname from pg_extension where extname <> 'plpgsql'`,
  )
  await loadExtensions(
    pglite,
    rows.map(({ extname }) => extname),
  )
}

/** Returns the path of an extension's bundle; undefined if there is none. */
function bundleOf(name: string): string | undefined {
  if (!/^[a-z0-9_-]+$/.test(name)) return undefined
  const folder = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'))
  const bundle = join(folder, `${SPI.includes(name) ? 'spi' : name}.tar.gz`)
  return existsSync(bundle) ? bundle : undefined
}

/** Reads the files of a gzipped tar archive. */
async function readBundle(bundle: string): Promise<readonly BundleFile[]> {
  const archive = await promisify(gunzip)(await readFile(bundle))
  const text = (start: number, length: number) =>
    archive
      .subarray(start, start + length)
      .toString('latin1')
      .replace(/\0.*$/s, '')
  const files: BundleFile[] = []
  for (let at = 0; at + BLOCK <= archive.length && text(at, 100) !== ''; ) {
    const size = Number.parseInt(text(at + 124, 12), 8)
    const content = at + BLOCK
    if (/^0?$/.test(text(at + 156, 1)))
      files.push({ path: text(at, 100), bytes: archive.subarray(content, content + size) })
    at = content + Math.ceil(size / BLOCK) * BLOCK
  }
  return files
}

/** Compiles libraries up front, because PostgreSQL cannot wait for it. */
async function put(pglite: PGlite, { path, bytes }: BundleFile): Promise<void> {
  const { FS, WASM_PREFIX } = pglite.Module
  const target = `${WASM_PREFIX}/${path}`
  const folder = dirname(target)
  FS.mkdirTree(folder)
  if (!path.endsWith('.so')) return FS.writeFile(target, bytes)
  await new Promise<void>((done, failed) => {
    const name = target.slice(folder.length + 1)
    FS.createPreloadedFile(folder, name, bytes, true, true, done, () => failed(new Error(`cannot load ${path}`)), false)
  })
}

function requiredBy(name: string, files: readonly BundleFile[]): readonly string[] {
  const control = files.find(({ path }) => path.endsWith(`/${name}.control`))
  const list = /^requires\s*=\s*'([^']*)'/m.exec(Buffer.from(control?.bytes ?? []).toString())?.[1] ?? ''
  return list.split(/[\s,]+/).filter((each) => each !== '')
}
