import type { Json } from '../foundation/json.js'
import type { FieldType } from '../fields/field-type.js'
import type { FeatureSpecs } from '../features/index.js'
import type { ApiSpec } from './api-spec.js'
import type { CoreSpec } from './core-spec.js'
import type { ModelSpec } from './model-spec.js'

export * from './api-spec.js'
export * from './access-spec.js'
export * from './core-spec.js'
export * from './model-spec.js'

/**
 * The checked content of resources.yaml. Every default is filled in and every reference resolved, so that
 * later code never checks for missing values. Frozen.
 */
export interface AppSpec {
  /** Absolute path of resources.yaml. */
  readonly file: string
  readonly api: ApiSpec
  readonly settings: Readonly<Record<string, Json>>
  /** As written, relative to the file. */
  readonly plugins: readonly string[]
  /** The models of the file, and the internal ones. */
  readonly models: readonly ModelSpec[]
  /** The model of the stored responses for idempotency keys; undefined if no resource stores any. */
  readonly answers: ModelSpec | undefined
  /** The model of the API keys; undefined if the service has none. */
  readonly keys: ModelSpec | undefined
  /** The models that the file does not declare: `answers` and `keys`. */
  readonly internal: readonly ModelSpec[]
  /** How callers sign in; undefined if the service needs no credentials. */
  readonly auth: AuthSpec | undefined
  /** Former tables that migrations may drop with all their rows. */
  readonly dropped: readonly string[]
  readonly resources: readonly ResourceSpec[]
  readonly mounts: readonly MountSpec[]
}

/** `auth`: how callers sign in, and what is known of them. */
export interface AuthSpec {
  /** The names of all roles. */
  readonly roles: readonly string[]
  /** The member of tokens that has the roles of the caller; undefined if tokens have no roles. */
  readonly rolesFrom: readonly string[] | undefined
  /** The claims that rules use, and their places in tokens. */
  readonly claims: readonly ClaimSpec[]
  /** The issuer of bearer tokens; undefined if there is none. */
  readonly jwt: JwtSpec | undefined
  /** Whether callers sign in by API keys. */
  readonly keys: boolean
  /** The proxy that authenticates callers; undefined if there is none. */
  readonly proxy: ProxySpec | undefined
  /** The URL of the service for RFC 9728, without a slash at the end; undefined if no metadata is published. */
  readonly url: string | undefined
  /** The title of the API, by which clients call what they sign in to. */
  readonly title: string
  /** The callers who may request routes of plugins and built-in routes, by name; mounted routers are named by path. */
  readonly routes: Readonly<Record<string, readonly string[]>>
  /** Callers that sign in with their name alone, in development. */
  readonly development: readonly DevelopmentIdentity[]
}

interface ClaimSpec {
  readonly name: string
  readonly from: readonly string[]
  /** The JSON type of the values, or of the items of a list. Values of another type are ignored. */
  readonly type: 'string' | 'number' | 'boolean'
  /** The declared type, which may take fewer values than the JSON type. */
  readonly declared: FieldType
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
  /** The addresses, and ranges of addresses, from which it connects. */
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

/** All resources again, under another path. */
export interface MountSpec {
  /** Replaces the API prefix. */
  readonly path: string
  /** As in `resources`, except for their names, paths and dialects. */
  readonly resources: readonly ResourceSpec[]
}

/** A resource: the settings that all resources have, and the settings of each feature. */
export interface ResourceSpec extends CoreSpec, FeatureSpecs {}
