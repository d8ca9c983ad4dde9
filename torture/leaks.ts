/** What no client may ever read: SQL, PostgreSQL's words, stacks, files of ours, addresses of databases. */
const LEAKS =
  /select |insert into|relation "|constraint|SQLSTATE|node_modules|\.[cm]?[jt]s:\d+|at \w+ \(|postgres:\/\/|ECONN|stack/i

/** What no log may hold: a password in an address, and what clients sent. */
const LOG_LEAKS = /postgres:\/\/[^ "]*:[^ "@*]+@|torture-canary/i

/** The first leak in a text; with `addresses`, by the rules of the log, which may name what failed. */
export function findLeak(text: string, { addresses = false } = {}): string | undefined {
  return (addresses ? LOG_LEAKS : LEAKS).exec(text)?.[0]
}
