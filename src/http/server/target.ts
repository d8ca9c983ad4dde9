const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Path and query are as in the URL. */
export interface Target {
  readonly path: string
  readonly search: string
  /** The host and port of a target in absolute form. */
  readonly authority: string | undefined
}

/** Splits a request target. */
export function splitTarget(target: string): Target {
  if (target.startsWith('/')) return splitLocal(target, undefined)
  const [origin = '', authority] = ABSOLUTE.exec(target) ?? []
  if (authority === undefined) return splitLocal(target, undefined)
  const local = target.slice(origin.length)
  return splitLocal(local.startsWith('/') ? local : `/${local}`, authority)
}

function splitLocal(local: string, authority: string | undefined): Target {
  const mark = local.indexOf('?')
  if (mark === -1) return { path: local, search: '', authority }
  return { path: local.slice(0, mark), search: local.slice(mark + 1), authority }
}
