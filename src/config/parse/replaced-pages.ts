import type { AppSpec } from '../spec.js'
import { show } from '../words.js'
import type { Rejection } from './rejection.js'

/** The main pages of Explore and Swagger UI. The routes of resources come first. */
const PAGES = ['/explore/', '/docs/']

/** Warnings about resources whose routes take the place of a page. */
export function checkReplacedPages({ api, resources }: AppSpec): readonly Rejection[] {
  if (api.explore === false) return []
  const pages = new Set([...PAGES, ...resources.map(({ path }) => `/explore${path}`)])
  return resources
    .filter(({ path }) => pages.has(path))
    .map(
      ({ name, path }): Rejection => ({
        code: 'SC416',
        path: ['resources', name, 'path'],
        part: 'value',
        message: `${show(name)} is served at ${path}, in place of a page of Explore or Swagger UI`,
        help: ['give it another path, or all resources an `api.prefix`', 'or show no pages: `api: { explore: false }`'],
      }),
    )
}
