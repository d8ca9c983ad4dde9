import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../bench/contestants.js'
import { copyCheckout } from '../checkout.js'
import { runJest } from '../jest.js'
import { type Arena, atLeast, atMost, type Figure, trial } from '../trial.js'

interface Amount {
  /** Whether every package is installed as well, development packages included. */
  readonly install: boolean
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly integrity?: string; readonly resolved?: string }>
  >
}

const REGISTRY = 'https://registry.npmjs.org/'

/** The npm that Node 20 brings. It runs install scripts unless it is configured not to; it does not know `allowScripts`. */
const NPM = 'npm@10.8.2'

/** What is installed with the program, and from where. */
export const supplyChain = trial<Amount>({
  id: 'T20',
  title: `every package is locked by its hash, above its minimum version and under an accepted licence, and ${NPM} runs no package scripts`,
  stores: ['none'],
  tiers: { commit: { install: false }, nightly: { install: true }, release: { install: true } },
  run: async (arena, { install }) => {
    const { packages } = JSON.parse(readFileSync(join(HOME, 'package-lock.json'), 'utf8')) as Lock
    const runtime = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
    const loose = runtime.filter(
      ([, { integrity, resolved = REGISTRY }]) => !integrity?.startsWith('sha512-') || !resolved.startsWith(REGISTRY),
    )
    const { passed, failed } = await runJest(arena, {
      files: ['test/cli/package'],
      env: { SNIPPETCTL_TEST_DB: 'embedded' },
    })
    for (const name of failed) arena.say(name)
    return [
      atMost(loose.length, 0, `${loose.length} of ${runtime.length} runtime packages are not locked by hash`),
      atMost(failed.length, 0, `${failed.length} of ${passed + failed.length} tests of the package fail`),
      ...(await probeScripts(arena)),
      ...(install ? installCheckout(arena) : []),
    ]
  },
})

/** Installs a package with install scripts under our settings, under those of a new project, and without settings. */
async function probeScripts({ folder }: Arena): Promise<readonly Figure[]> {
  const noisy = packNoisy(join(folder, 'noisy'))
  const project = join(folder, 'project')
  execFileSync(process.execPath, [join(HOME, 'bin/snippetctl.js'), 'new', project], { stdio: 'ignore' })
  const runs = (name: string, npmrc?: string) => scriptsRun(install(join(folder, name), noisy, npmrc))
  const ours = runs('ours', join(HOME, '.npmrc'))
  const theirs = runs('theirs', join(project, '.npmrc'))
  const control = runs('control')
  return [
    atMost(ours, 0, `${ours} scripts of a package ran in the checkout`),
    atMost(theirs, 0, `${theirs} in a project made by \`new\``),
    atLeast(control, 1, `${control} with no settings`),
  ]
}

/** A package, as a file, whose three install scripts do nothing. */
function packNoisy(folder: string): string {
  mkdirSync(folder)
  const scripts = { preinstall: 'exit 0', install: 'exit 0', postinstall: 'exit 0' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'noisy', version: '1.0.0', scripts }))
  npm(folder, ['pack'])
  return join(folder, 'noisy-1.0.0.tgz')
}

function install(folder: string, archive: string, npmrc?: string): string {
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { noisy: `file:${archive}` } }),
  )
  if (npmrc !== undefined) copyFileSync(npmrc, join(folder, '.npmrc'))
  return npm(folder, ['install', '--offline', ...QUIET])
}

const QUIET = ['--no-audit', '--no-fund', '--foreground-scripts']

/** Runs npm 10, whatever npm is installed; returns its output. */
function npm(folder: string, args: readonly string[]): string {
  return execFileSync('npm', ['exec', '--yes', `--package=${NPM}`, '--', 'npm', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    // Settings inherited from the npm that runs this would override those in the folder.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name))),
  })
}

/** How many scripts npm says that it ran: `> esbuild@0.28.2 postinstall`. */
const scriptsRun = (output: string): number => output.match(/^> \S+@\S+ (pre|post)?install$/gm)?.length ?? 0

/** The commands of the README in a new copy of the checkout: everything is installed, it builds, and a test passes. */
function installCheckout({ say, later }: Arena): readonly Figure[] {
  const checkout = copyCheckout()
  later(() => rmSync(checkout, { recursive: true, force: true }))
  const ran = scriptsRun(npm(checkout, ['ci', ...QUIET]))
  const steps = [
    ['run', 'build'],
    ['test', '--', 'highlight'],
    ['start', '--', '--help'],
    ['run', 'format:check'],
  ]
  const failing = steps.filter((args) => {
    try {
      npm(checkout, args)
      return false
    } catch (error) {
      say(`npm ${args.join(' ')}: ${String(error).slice(0, 2000)}`)
      return true
    }
  })
  return [
    atMost(ran, 0, `${ran} scripts ran in \`npm ci\` of a copy of the checkout`),
    atMost(failing.length, 0, `${failing.length} of ${steps.length} npm commands fail in it`),
  ]
}
