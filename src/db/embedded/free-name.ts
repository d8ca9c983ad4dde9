import { existsSync } from 'node:fs'

/** Returns an unused name next to a directory: `pg.before-reset-1` for `pg`, or the next number. */
export function freeName(directory: string, suffix: string): string {
  for (let number = 1; ; number++) {
    const name = `${directory}.${suffix}-${number}`
    if (!existsSync(name)) return name
  }
}
