/** Text that no client may ever see: SQL, PostgreSQL's messages, stacks, our file names, database URLs. */
const LEAKS =
  /select |insert into|relation "|constraint|SQLSTATE|node_modules|\.[cm]?[jt]s:\d+|at \w+ \(|postgres:\/\/|ECONN|stack/i

/** Text that no log may contain: a password in a URL, and client input. */
const LOG_LEAKS = /postgres:\/\/[^ "]*:[^ "@*]+@|torture-canary/i

/** Finds the first leak in a text; with `addresses`, by the rules for logs, which may name what failed. */
export function findLeak(text: string, { addresses = false } = {}): string | undefined {
  return (addresses ? LOG_LEAKS : LEAKS).exec(text)?.[0]
}
