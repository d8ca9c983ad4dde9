const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Both as they stand in the URL. */
export interface Target {
  readonly path: string
  readonly search: string
}

/** A request's target as path and query. A host in it is not looked at. */
export function splitTarget(target: string): Target {
  const local = target.startsWith('/') ? target : toLocal(target)
  const mark = local.indexOf('?')
  return mark === -1 ? { path: local, search: '' } : { path: local.slice(0, mark), search: local.slice(mark + 1) }
}

function toLocal(target: string): string {
  const local = target.replace(ORIGIN, '')
  return local === target || local.startsWith('/') ? local : `/${local}`
}
