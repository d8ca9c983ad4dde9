import type { Json } from '../../foundation/json.js'
import type { KeySource } from '../../fields/field-type.js'
import type { IndexMethod, RelationSpec } from '../model-spec.js'
import type { Operation } from '../core-spec.js'

/** A field of the right shape in YAML; the options of its type are members too. */
export interface FieldYaml {
  readonly type: string
  readonly column?: string
  readonly primary_key?: boolean
  readonly key?: KeySource
  readonly renamed_from?: string
  readonly nullable?: boolean
  readonly unique?: boolean
  readonly default?: Json
  readonly auto?: 'on_create' | 'on_update'
  readonly read_only?: boolean
  readonly generated?: boolean
  readonly write_only?: boolean
  readonly private?: boolean
  readonly label?: string
  readonly message?: string
  readonly model?: string
  readonly references?: string
  readonly on_delete?: RelationSpec['onDelete']
}

/** A relation over several fields. */
export interface RelationYaml {
  readonly model: string
  readonly fields: readonly string[]
  readonly references?: readonly string[]
  readonly on_delete?: RelationSpec['onDelete']
  readonly label?: string
}

export interface IndexMapping {
  readonly fields: readonly string[]
  readonly unique?: boolean
  readonly ignore_case?: boolean
  readonly where?: Readonly<Record<string, Json>>
  readonly using?: IndexMethod
  readonly message?: string
}

export type IndexYaml = readonly string[] | IndexMapping

export interface ModelYaml {
  readonly table?: string
  readonly view?: string
  readonly managed?: boolean
  readonly renamed_from?: string
  readonly dropped?: readonly string[]
  readonly primary_key?: readonly string[] | 'none'
  readonly fields: Readonly<Record<string, FieldYaml>>
  readonly relations?: Readonly<Record<string, RelationYaml>>
  readonly indexes?: readonly IndexYaml[]
  readonly messages?: Readonly<Record<string, string>>
}

export interface ResourceYaml {
  readonly model: string
  readonly path: string
  readonly operations?: readonly Operation[]
  readonly read_only?: boolean
  readonly dialect?: string
  readonly unknown_query?: 'refuse' | 'ignore'
  readonly idempotency?: 'none' | 'optional' | 'required'
  readonly url?: boolean
  readonly links?: Readonly<Record<string, string>>
  readonly access?: readonly Json[]
}

export interface MountYaml {
  readonly path: string
  readonly dialect?: string
}

export interface ApiYaml {
  readonly prefix?: string
  readonly title?: string
  readonly dialect?: string
  readonly explore?: boolean | 'development'
  readonly compression?: boolean
  readonly hosts?: readonly string[]
  readonly max_body?: number
  readonly public_url?: string
  readonly trusted_proxies?: readonly string[]
  readonly cors?: CorsYaml
}

export interface CorsYaml {
  readonly origins: readonly string[]
  readonly credentials?: boolean
  readonly max_age?: number
  readonly headers?: readonly string[]
}

export interface AuthYaml {
  readonly url?: string
  readonly roles?: { readonly names: readonly string[]; readonly from?: readonly string[] }
  readonly claims?: Readonly<Record<string, { readonly type: string; readonly from?: readonly string[] }>>
  readonly jwt?: {
    readonly issuer: string
    readonly audience: string
    readonly algorithms: readonly string[]
    readonly jwks?: string
    readonly keys?: string
    readonly typ?: string
    readonly header?: string
  }
  readonly keys?: boolean
  readonly proxy?: { readonly from: readonly string[]; readonly subject: string; readonly roles?: string }
  readonly routes?: Readonly<Record<string, string | readonly string[]>>
  readonly development?: Readonly<
    Record<string, { readonly roles?: readonly string[]; readonly claims?: Readonly<Record<string, Json>> }>
  >
}

export interface ConfigYaml {
  readonly api?: ApiYaml
  readonly auth?: AuthYaml
  readonly settings?: Readonly<Record<string, Json>>
  readonly plugins?: readonly string[]
  readonly database?: { readonly managed?: boolean }
  readonly models?: Readonly<Record<string, ModelYaml>>
  readonly dropped?: readonly string[]
  readonly resources?: Readonly<Record<string, ResourceYaml>>
  readonly mounts?: readonly MountYaml[]
}

/** The members of a mapping; empty if the value is not a mapping. */
export function membersOf(json: Json | undefined): readonly (readonly [string, Json])[] {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.entries(json) : []
}

/** The items of a list; empty if the value is not a list. */
export function itemsOf(json: Json | undefined): readonly Json[] {
  return Array.isArray(json) ? json : []
}
