import { existsSync } from 'node:fs'

/** A name beside a directory that nothing has yet: `pg.before-reset-1` of `pg`, or the next number. */
export function freeName(directory: string, suffix: string): string {
  for (let number = 1; ; number++) {
    const name = `${directory}.${suffix}-${number}`
    if (!existsSync(name)) return name
  }
}
