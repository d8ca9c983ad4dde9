import type { Json } from '../json.js'
import type { FeatureSpecs } from '../features/index.js'
import type { ApiSpec } from './api-spec.js'
import type { CoreSpec, ModelSpec } from './core-spec.js'

export * from './api-spec.js'
export * from './core-spec.js'

/**
 * The checked content of resources.yaml. Every default is filled in and every reference resolved, so that
 * nothing downstream asks "is it there?". Frozen.
 */
export interface AppSpec {
  /** Absolute path of resources.yaml. */
  readonly file: string
  readonly api: ApiSpec
  readonly settings: Readonly<Record<string, Json>>
  /** As written: paths relative to the file. */
  readonly plugins: readonly string[]
  /** Those of the file, and the internal ones. */
  readonly models: readonly ModelSpec[]
  /** Where answers are kept for requests that are sent again; undefined where no resource keeps any. */
  readonly answers: ModelSpec | undefined
  /** Where API keys are; undefined where nobody signs in by them. */
  readonly keys: ModelSpec | undefined
  /** The models that are not of the file: `answers` and `keys`. */
  readonly internal: readonly ModelSpec[]
  /** How callers sign in; undefined where nobody has to. */
  readonly auth: AuthSpec | undefined
  /** Tables that no model has any more, and that may go with all their rows. */
  readonly dropped: readonly string[]
  readonly resources: readonly ResourceSpec[]
  readonly mounts: readonly MountSpec[]
}

/** `auth`: how callers sign in, and what is known of them. */
export interface AuthSpec {
  /** The names of all roles. */
  readonly roles: readonly string[]
  /** Where tokens have the roles of their callers; undefined if they have none. */
  readonly rolesFrom: readonly string[] | undefined
  /** The claims that rules use, and where tokens have them. */
  readonly claims: readonly ClaimSpec[]
  /** The issuer of bearer tokens; undefined if there is none. */
  readonly jwt: JwtSpec | undefined
  /** Whether callers sign in by API keys. */
  readonly keys: boolean
  /** The proxy that says who callers are; undefined if there is none. */
  readonly proxy: ProxySpec | undefined
  /** The URL of the service for RFC 9728, without a slash at its end; undefined if nothing is published there. */
  readonly url: string | undefined
  /** For `WWW-Authenticate`; without quotes and backslashes. */
  readonly realm: string
  /** Who may request routes of plugins, and what is built in, by name; mounted routers by path. */
  readonly routes: Readonly<Record<string, readonly string[]>>
  /** Callers that sign in by their name alone, in development. */
  readonly development: readonly DevelopmentIdentity[]
}

interface ClaimSpec {
  readonly name: string
  readonly from: readonly string[]
  /** The type of its values, or of the items of a list, in JSON. Other values are those of no claim. */
  readonly type: 'string' | 'number' | 'boolean'
}

/** Tokens of one issuer (RFC 7519). */
export interface JwtSpec {
  readonly issuer: string
  readonly audience: string
  readonly algorithms: readonly string[]
  /** The address of the keys; undefined if the issuer's discovery document or a file has them. */
  readonly jwks: string | undefined
  /** The absolute path of a file with a key set (RFC 7517). */
  readonly keys: string | undefined
  /** The `typ` that tokens must have, such as `at+jwt` (RFC 9068). */
  readonly typ: string | undefined
  /** The header that has tokens, in lower case; undefined for `Authorization: Bearer`. */
  readonly header: string | undefined
}

/** A proxy that authenticates callers. Names of headers are in lower case. */
export interface ProxySpec {
  /** The addresses, and ranges of them, from which it connects. */
  readonly from: readonly string[]
  readonly subject: string
  readonly roles: string | undefined
}

interface DevelopmentIdentity {
  readonly subject: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, Json>>
  readonly method: 'development'
}

/** All resources once more, at another place. */
export interface MountSpec {
  /** What stands in place of the API prefix. */
  readonly path: string
  /** As in `resources`, but for their names, paths and dialects. */
  readonly resources: readonly ResourceSpec[]
}

/** A resource: what all of them have, and what each feature makes of its keys. */
export interface ResourceSpec extends CoreSpec, FeatureSpecs {}
