import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../bench/contestants.js'
import { runJest } from '../jest.js'
import { atMost, type Figure, trial } from '../trial.js'

interface Amount {
  readonly install: boolean
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly integrity?: string; readonly resolved?: string }>
  >
}

const REGISTRY = 'https://registry.npmjs.org/'

/** What is installed with the program, and from where. */
export const supplyChain = trial<Amount>({
  id: 'T20',
  title:
    'every package is locked by its contents, above its floor, of a good licence, and runs nothing when it is installed',
  stores: ['none'],
  tiers: { commit: { install: false }, nightly: { install: true }, release: { install: true } },
  run: async (arena, { install }) => {
    const { packages } = JSON.parse(readFileSync(join(HOME, 'package-lock.json'), 'utf8')) as Lock
    const runtime = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
    const loose = runtime.filter(
      ([, { integrity, resolved = REGISTRY }]) => !integrity?.startsWith('sha512-') || !resolved.startsWith(REGISTRY),
    )
    const { passed, failed } = await runJest(arena, {
      files: ['test/package'],
      env: { SNIPPETCTL_TEST_DB: 'embedded' },
    })
    for (const name of failed) arena.say(name)
    const figures: Figure[] = [
      atMost(loose.length, 0, `${loose.length} of ${runtime.length} runtime packages are not locked by their contents`),
      atMost(failed.length, 0, `${failed.length} of ${passed + failed.length} tests of the package fail`),
    ]
    if (install)
      figures.push(atMost(Number(!installs(join(arena.folder, 'install'))), 0, '`npm ci --ignore-scripts` works'))
    return figures
  },
})

/** Whether the program runs after an installation that runs no script. */
function installs(folder: string): boolean {
  mkdirSync(folder)
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(HOME, file), join(folder, file))
  try {
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: 'ignore',
    })
    for (const name of ['bin', 'dist']) cpSync(join(HOME, name), join(folder, name), { recursive: true })
    execFileSync(process.execPath, ['bin/snippetctl.js', '--help'], { cwd: folder, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
