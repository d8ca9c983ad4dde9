import { createHash } from 'node:crypto'
import { isKnown } from '../http/entity-tags.js'
import type { Route } from '../http/route.js'
import { type Described, describeApp } from './document.js'
import { toOpenApi30 } from './downgrade.js'

/** The versions of OpenAPI that the document is available in. */
export const OPENAPI_VERSIONS = ['3.1', '3.0'] as const
export type OpenApiVersion = (typeof OPENAPI_VERSIONS)[number]

const PATHS: Readonly<Record<OpenApiVersion, string>> = { '3.1': '/openapi.json', '3.0': '/openapi-3.0.json' }

/** The text of the document, as served and as printed by `openapi`. */
export function renderOpenApi(app: Described, version: OpenApiVersion): string {
  const document = describeApp(app)
  return `${JSON.stringify(version === '3.0' ? toOpenApi30(document) : document, undefined, 2)}\n`
}

/** The routes of the documents, which are built once, on demand. */
export function openApiRoutes(app: Described): readonly Route[] {
  return OPENAPI_VERSIONS.map((version) => {
    let made: { readonly text: string; readonly etag: string } | undefined
    return {
      name: `openapi-${version}`,
      method: 'GET',
      path: PATHS[version],
      source: 'built in',
      handle({ headers }) {
        made ??= withTag(renderOpenApi(app, version))
        const { text, etag } = made
        const about = { ETag: etag, 'Cache-Control': 'no-cache' }
        return isKnown(headers, etag) ? { status: 304, headers: about } : { status: 200, headers: about, text }
      },
    }
  })
}

function withTag(text: string) {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"` }
}
