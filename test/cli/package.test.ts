import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { renderConfigSchema } from '../../src/config/schema/editors.js'

type Versions = Readonly<Record<string, string>>

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Versions
  readonly devDependencies: Versions
  readonly peerDependencies: Versions
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
  readonly allowScripts: Readonly<Record<string, boolean>>
}

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly dependencies?: Versions
  readonly devDependencies?: Versions
  readonly optionalDependencies?: Versions
}

const lockText = readFileSync('package-lock.json', 'utf8')
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const { packages } = JSON.parse(lockText) as { packages: Readonly<Record<string, Locked>> }
const installed = Object.entries(packages).filter(([path]) => path !== '')
const runtime = installed.filter(([, locked]) => locked.dev !== true)

/** Below these versions an advisory is known that concerns what this program does. */
const FLOORS: Versions = {
  ajv: '8.18.0',
  'body-parser': '2.2.1',
  express: '5.1.0',
  'fast-uri': '3.1.6',
  knex: '3.3.0',
  lodash: '4.18.0',
  objection: '3.1.5',
  'path-to-regexp': '8.4.0',
  pg: '8.11.0',
  qs: '6.16.0',
  yaml: '2.8.3',
}

/** The web framework, the query builder and the driver bring all but a dozen and a half of them; the newest is jose, which verifies tokens. */
const MOST_RUNTIME_PACKAGES = 123

/** Files of the checkout that the package does not have. */
const CONTRIBUTORS = ['bench/README.md', 'src/README.md', 'src/snippets/plugin.ts', 'torture/README.md']

const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']

/** Packages that would run a script when they are installed, and why nothing is lost when they do not. */
const NEEDLESS_SCRIPTS: Readonly<Record<string, string>> = {
  '@parcel/watcher': 'watches files for no command of ours; its platform package is prebuilt',
  '@scarf/scarf': 'only tells its makers that Spectral or Swagger UI was installed',
  '@swc/core': 'its platform package is prebuilt',
  'cpu-features': 'optional; speeds up a cipher choice of ssh2',
  esbuild: 'only replaces a small launcher; its platform package is prebuilt',
  protobufjs: 'only prints advice on version ranges',
  ssh2: 'builds an optional binding; without it the cipher is plain JavaScript',
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** The entry that `name` resolves to for the package at `path`: the nearest one on the way up. */
function findLocked(path: string, name: string): Locked | undefined {
  const here = packages[`${path === '' ? '' : `${path}/`}node_modules/${name}`]
  if (here !== undefined || path === '') return here
  return findLocked(path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), name)
}

function isBelow(version: string, floor: string): boolean {
  const [given, least] = [version, floor].map((text) => text.split('.').map((part) => Number.parseInt(part, 10)))
  const differs = least?.findIndex((part, index) => part !== given?.[index]) ?? -1
  return differs >= 0 && (given?.[differs] ?? 0) < (least?.[differs] ?? 0)
}

/** Whether npm installs the package on the platform that most servers have; platform packages come in dozens. */
function isForServer({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: Locked): boolean {
  return os.includes('linux') && cpu.includes('x64') && libc.includes('glibc')
}

describe('package.json', () => {
  test('names exact versions', () => {
    const exact = /^(npm:(@[^@]+|[^@]+)@)?\d+\.\d+\.\d+$/
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(versions.filter(([, version]) => !exact.test(version))).toEqual([])
  })

  test('requires no other package in a project', () => {
    const wanted = Object.keys(manifest.peerDependencies)
    expect(wanted.filter((name) => !manifest.peerDependenciesMeta[name]?.optional)).toEqual([])
  })

  test('lets no package run a script at installation', () => {
    const scripted = installed.filter(([, locked]) => locked.hasInstallScript).map(([path]) => nameOf(path))
    expect([...new Set(scripted)].sort()).toEqual(Object.keys(NEEDLESS_SCRIPTS).sort())
    expect(manifest.allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, false])))
  })
})

describe('.npmrc', () => {
  test('keeps every npm from running scripts of packages; npm 10 does not know `allowScripts`', () => {
    expect(readFileSync('.npmrc', 'utf8').split('\n')).toContain('ignore-scripts=true')
  })

  test('has no npm lifecycle scripts, which would not run', () => {
    const names = Object.keys(manifest.scripts)
    const [before, after] = ['pre', 'post'].map((word) => names.filter((name) => name.startsWith(word)))
    expect([...(before ?? []), ...(after ?? [])]).toEqual([])
  })
})

describe('package-lock.json', () => {
  test('matches package.json', () => {
    expect(packages['']?.dependencies).toEqual(manifest.dependencies)
    expect(packages['']?.devDependencies).toEqual(manifest.devDependencies)
  })

  test('contains every platform of every package, so that `npm ci` works on all', () => {
    const missing = Object.entries(packages).flatMap(([path, locked]) =>
      Object.keys(locked.optionalDependencies ?? {}).filter((name) => findLocked(path, name) === undefined),
    )
    expect(missing).toEqual([])
  })

  test('names no registry', () => {
    expect(lockText).not.toContain('"resolved"')
  })

  test('keeps dependencies above the versions with known advisories', () => {
    const known = runtime.filter(([path]) => FLOORS[nameOf(path)] !== undefined)
    expect(new Set(known.map(([path]) => nameOf(path)))).toEqual(new Set(Object.keys(FLOORS)))
    expect(known.filter(([path, { version }]) => isBelow(version ?? '0', FLOORS[nameOf(path)] ?? '0'))).toEqual([])
  })

  test('keeps dependencies few, all under permissive licences', () => {
    const here = runtime.filter(([, locked]) => isForServer(locked))
    expect(here.length).toBeLessThanOrEqual(MOST_RUNTIME_PACKAGES)
    expect(here.filter(([, { license }]) => !PERMISSIVE.includes(license ?? 'none'))).toEqual([])
  })

  test.each([
    ['8.17.9', '8.18.0', true],
    ['8.18.0', '8.18.0', false],
    ['9.0.0', '8.18.0', false],
    ['3.1.5', '3.1.6', true],
    ['3.10.0', '3.9.9', false],
  ])('is classified: %s below %s is %s', (version, floor, below) => {
    expect(isBelow(version, floor)).toBe(below)
  })
})

test('resources.schema.json is current (`npm run schema`)', () => {
  const isCurrent = readFileSync('resources.schema.json', 'utf8') === renderConfigSchema()
  expect(isCurrent).toBe(true)
})

describe('the package', () => {
  const { files, size } = packed()

  test('contains every file that its pages link to', () => {
    const pages = [...files].filter((file) => /\.md$|^llms\.txt$/.test(file))
    expect(pages.length).toBeGreaterThan(25)
    const dead = pages.flatMap((page) => {
      const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      return links.map(([, link = '']) => join(dirname(page), link)).filter((file) => !files.has(file))
    })
    // How it is built concerns those who change it, and they have a checkout.
    expect(new Set(dead)).toEqual(new Set(CONTRIBUTORS))
  })

  test('contains every declaration that those of its public names import', () => {
    const seen = new Set<string>()
    const follow = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/['"](\.\.?\/[^'"]+)\.js['"]/g))
        follow(join(dirname(file), `${path}.d.ts`))
    }
    for (const face of ['index', 'testing']) follow(`dist/src/${face}.d.ts`)
    expect(seen.size).toBeGreaterThan(50)
    expect([...seen].filter((file) => !files.has(file))).toEqual([])
  })

  test('contains what a server needs, and is small', () => {
    for (const file of ['deploy/Dockerfile', 'deploy/nginx.conf', 'docs/deployment.md', 'LICENSE', 'dist/cli/main.js'])
      expect(files).toContain(file)
    expect(size).toBeLessThan(1_200_000)
  })
})

/** What npm would put into the package, and its size in bytes. */
function packed(): { readonly files: ReadonlySet<string>; readonly size: number } {
  const text = execFileSync('npm', ['pack', '--dry-run', '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ files, size }] = JSON.parse(text) as [{ files: readonly { readonly path: string }[]; size: number }]
  return { files: new Set(files.map(({ path }) => path)), size }
}
