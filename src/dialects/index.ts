import { crud } from './crud.js'
import type { Dialect } from './dialect.js'
import { jsonServer } from './json-server.js'
import { page } from './page.js'
import { simpleRest } from './simple-rest.js'

/** Every dialect that a resource can speak beside its own. A new one is its file and a line here. */
export const DIALECTS: readonly Dialect[] = [page, jsonServer, simpleRest, crud]

/** What a resource speaks when nobody chose anything: its parameters and answers are what `pagination` says. */
export const PLAIN = 'plain'

/** The dialect of a name; undefined for the plain one. */
export function dialectOf(name: string): Dialect | undefined {
  return DIALECTS.find((dialect) => dialect.name === name)
}
