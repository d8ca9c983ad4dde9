import { crud } from './crud.js'
import type { Dialect } from './dialect.js'
import { jsonServer } from './json-server.js'
import { page } from './page.js'
import { simpleRest } from './simple-rest.js'

/** Every dialect besides the default one. A new one is its file and a line here. */
export const DIALECTS: readonly Dialect[] = [page, jsonServer, simpleRest, crud]

/** The default dialect: its parameters and responses follow `pagination`. */
export const PLAIN = 'plain'

/** The dialect of a name; undefined for the default one. */
export function dialectOf(name: string): Dialect | undefined {
  return DIALECTS.find((dialect) => dialect.name === name)
}
