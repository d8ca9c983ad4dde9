import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Skipped, type Tier } from './trial.js'

const PLACES = ['/usr/sbin', '/usr/bin', '/usr/local/bin']

/**
 * The path of a program of Debian. Where it is missing, every tier but the first installs its package.
 * @throws Skipped in the commit tier, and where it cannot be installed
 */
export function findTool(name: string, tier: Tier): string {
  const path = look(name)
  if (path !== undefined) return path
  const advice = `${name} is not installed; \`apt-get install ${name}\` would do it`
  if (tier === 'commit' || process.getuid?.() !== 0) throw new Skipped(advice)
  try {
    // No service of the package may start: trials start their own.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
    execFileSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', name], { env, stdio: 'ignore' })
  } catch {
    throw new Skipped(advice)
  }
  const installed = look(name)
  if (installed === undefined) throw new Skipped(`the package ${name} has no program ${name}`)
  return installed
}

function look(name: string): string | undefined {
  return PLACES.map((place) => `${place}/${name}`).find((path) => existsSync(path))
}
