import { createHash } from 'node:crypto'
import { type EncodedText, replyEncoded } from '../http/headers/encodings.js'
import type { Profile, Profiles } from '../access/profiles.js'
import type { AuthSpec } from '../config/spec.js'
import { guardHandler, type RoutesFor } from '../http/granted-routes.js'
import type { Handler, Route } from '../http/route.js'
import { keepRecent, remember } from '../foundation/remember.js'
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

/** The length of all documents that are kept, each with its compressed forms. */
const MAX_LENGTH = 64 * 2 ** 20

/** The routes of the documents, which are built on demand: once without `auth`, otherwise once for all callers whose grants allow the same. */
export function openApiRoutes(app: Described & { readonly access: Access | undefined }): readonly Route[] {
  const { access } = app
  const kept = keepRecent<EncodedText>(MAX_LENGTH)
  const allowed = remember((profile: Profile) => {
    const routes = Object.entries(access?.auth.routes ?? {}).filter(([, names]) => profile.isAmong(names))
    return JSON.stringify([profile.allowed(), routes.map(([name]) => name)])
  })
  return OPENAPI_VERSIONS.map((version) => {
    const render = (described: Described) => withTag(renderOpenApi(described, version))
    const renderFor = ({ routesFor }: Access, profile: Profile) =>
      kept(`${version} ${allowed(profile)}`, (grow) => {
        const document = render({ ...app, routes: routesFor(profile) })
        grow(document.text.length)
        return document
      })
    let whole: EncodedText | undefined
    const handle: Handler = async ({ headers, identity }) => {
      const document = access ? renderFor(access, access.profiles(identity)) : (whole ??= render(app))
      return replyEncoded(document, { headers }, { cacheControl: access ? 'private, no-cache' : 'no-cache' })
    }
    return {
      name: `openapi-${version}`,
      method: 'GET',
      path: PATHS[version],
      source: 'built in',
      handle: access ? guardHandler(access, 'openapi', handle) : handle,
    }
  })
}

interface Access {
  readonly auth: AuthSpec
  readonly profiles: Profiles
  readonly routesFor: RoutesFor
}

function withTag(text: string): EncodedText {
  return { text, tag: createHash('sha256').update(text).digest('base64url').slice(0, 27) }
}
