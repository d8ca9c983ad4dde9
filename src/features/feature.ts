import type { CoreSpec, ExpansionSpec, FieldSpec, ModelSpec, Operation } from '../config/core-spec.js'
import type { IndexNeeds } from '../config/indexes/coverage.js'
import type { RuleParts } from '../config/parse/access-rules.js'
import type { AuthDraft } from '../config/parse/auth-draft.js'
import type { Drafts } from '../config/parse/drafts.js'
import type { Report } from '../config/parse/report.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import type { ResourceYaml } from '../config/schema/yaml-shape.js'
import type { Json, JsonSchema } from '../json.js'
import type { ProblemType } from '../problem.js'

/**
 * A feature of a resource, one object in one file: one key of it in resources.yaml, or a few, and everything that they mean. Documents,
 * OPTIONS, types, pages and editors go through the list of features and know none of them by name.
 *
 * `Spec` is what the feature adds to the spec of a resource; `Plan` is what its parameters add to the plan of a list; `Others` is what it
 * reads of the specs of other features.
 */
export interface Feature<Spec extends object = object, Plan extends object = object, Others extends object = object> {
  /** The schema of each key, with its description and an example. */
  readonly keys: Readonly<Record<string, JsonSchema>>
  /** The names of each key in other tools; the help for an unknown key suggests the key. */
  readonly synonyms?: Readonly<Record<string, readonly string[]>>
  /** Whether the keys have no effect for a resource in a dialect, whose clients have parameters of their own. */
  readonly plainOnly?: true
  /**
   * Reports every mistake under the keys, with its place.
   * @returns how the spec is built; called only for a configuration without mistakes
   */
  parse(resource: ResourceDraft, scope: Scope): Build<Spec>
  /** The names that no filter of the resource may have, because its lists use them. */
  reserves?(resource: Pick<ResourceDraft, 'given'>): readonly string[]
  /** The query parameters that the resource takes on account of the feature. */
  parameters?(spec: CoreSpec & Spec & Others, readLink?: LinkReader): readonly QueryParameter<Plan>[]
  /** The parameters by which records are asked for in part, or with related ones. In a dialect no resource has them. */
  readonly selects?: readonly string[]
  /** The parameters of a plan that no index can serve, beside its conditions. */
  unserved?(plan: Readonly<Plan>): readonly string[]
  /** The spec of the same resource at a mount, where it and the others have other names. */
  mount?(spec: Spec, at: MountNames): Spec
  /** The parts of the spec that differ for callers to whom grants show only some fields. */
  restrict?(spec: Spec, caller: Visibility): Partial<Spec>
  /** The fields of answers besides those that are stored. Bodies may repeat them: they are ignored. */
  shows?(spec: CoreSpec & Spec & Others): readonly FieldSpec[]
  /** The members that the parameters of `selects` add to records. Bodies may repeat them: they are ignored. */
  joins?(spec: CoreSpec & Spec & Others, describe: DescribeRecord): Readonly<Record<string, JsonSchema>>
  /** The members of the description that OPTIONS answers. */
  options?(spec: CoreSpec & Spec & Others): Readonly<Record<string, Json>>
  /** What documents say of an operation on account of the feature, beside its query parameters. */
  responses?(spec: CoreSpec & Spec & Others, described: DescribedOperation): ResponseParts
  /** How its lists find or order rows, as far as an index can help. */
  indexes?(spec: CoreSpec & Spec & Others): readonly IndexUse[]
}

/** What some callers see of a resource. */
export interface Visibility {
  /** Whether lists can be asked about a field, because some records of them show it. */
  asks(field: string): boolean
  /** Whether every record shows a field. */
  always(field: string): boolean
  /** A related record as callers see it; undefined if they see none, or not the relation of every record. */
  expansion(expansion: ExpansionSpec): ExpansionSpec | undefined
  /** Whether lists have all records. */
  readonly seesAll: boolean
}

/** What a feature may refer to, and where it reports mistakes. */
export interface Scope {
  readonly resources: readonly ResourceDraft[]
  readonly models: Drafts
  /** Undefined without `auth`. */
  readonly auth: AuthDraft | undefined
  readonly report: Report
  /** The names that no filter of a resource may have. */
  reserved(resource: Pick<ResourceDraft, 'given'>): ReadonlySet<string>
}

/** Parses the value of a relation given as a link; undefined if the field does not accept links or if the link leads elsewhere. */
export type LinkReader = (field: FieldSpec, value: Json) => unknown

/** The schemas of the members of a record of which these are shown. */
export type DescribeRecord = (shown: {
  readonly url: boolean
  readonly links: Readonly<Record<string, string>>
  readonly fields: readonly FieldSpec[]
}) => Readonly<Record<string, JsonSchema>>

/** What is called otherwise at a mount. */
export interface MountNames {
  resource(name: string): string
  /** The fields that are shown as links, with their routes. */
  links(links: Readonly<Record<string, string>>): Readonly<Record<string, string>>
}

/** Builds what a feature adds to the spec of a resource. */
export type Build<Spec> = (declared: Declared) => Spec

/** What a spec is built of. */
export interface Declared {
  readonly model: ModelSpec
  readonly models: ReadonlyMap<string, ModelSpec>
  /** What rules refer to. */
  readonly rules: RuleParts
  readonly resources: Readonly<Record<string, ResourceYaml>>
  /** The field of the model that has this name, which `parse` has made sure of. */
  field(name: string): FieldSpec
}

/** The operation that a document describes. */
export interface DescribedOperation {
  /** `action` is one that clients send by POST. */
  readonly operation: Operation | 'action'
  /** Whether it is done to several records at once. */
  readonly bulk?: boolean | undefined
}

/** What documents say of a header. */
export interface HeaderDescription {
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** What a feature adds to the description of an operation. */
export interface ResponseParts {
  /** Headers of the request, by name. */
  readonly requestHeaders?: Readonly<Record<string, HeaderDescription>>
  /** Names of headers of the response. */
  readonly headers?: readonly string[]
  /** How it can be rejected. */
  readonly problems?: readonly ProblemType[]
  /** Responses that are neither the usual one nor rejections, by status. */
  readonly answers?: Readonly<Record<number, { readonly description: string; readonly headers: readonly string[] }>>
  /** The schema of what holds the records of a list, for one that is no array. */
  readonly wrap?: (items: JsonSchema) => JsonSchema
}

/** One way in which lists find or order rows by a field. */
export interface IndexUse {
  /** The field that an index starts with. */
  readonly field: FieldSpec
  /** Left out where lists do without an index. */
  readonly need?: IndexNeed
}

/** The index without which a list reads or sorts the whole table. */
export interface IndexNeed {
  /** The key of the resource that asks for it. */
  readonly key: string
  /** The place of the field under the key, if it is a list; left out where the key as a whole asks for the index. */
  readonly place?: number
  /** What happens without it, in one sentence. */
  readonly cost: string
  /** The least that an index has to serve. */
  readonly wanted: IndexNeeds
  /** The fields of the index that serves it best. */
  readonly best: readonly FieldSpec[]
}

/**
 * What a parameter is for, where others need to know: it filters or orders a list, or is part of where a page starts or how long it
 * is, which the links between pages set.
 */
export type ParameterRole = 'filter' | 'order' | 'page' | 'size'

/** One query parameter: how it is read, described and typed. Lists, single records and dialects use the same objects. */
export interface QueryParameter<Plan extends object = object> {
  readonly name: string
  readonly on: readonly Operation[]
  readonly role?: ParameterRole
  /** One sentence or two for documents. */
  readonly description: string
  /** Of a parameter that takes several values, an array. */
  readonly schema: JsonSchema
  /** Whether it takes several values, between commas. */
  readonly several?: true
  /** Its type for code that makes lists. */
  readonly typescript: string
  /** Whether answers then hold parts of records. It is documented on the paths of parts, so that other answers are known to be whole. */
  readonly partial?: true
  /** Parameters that do not go together with it. */
  readonly excludes?: readonly string[]
  /** How people are told what to type. Pages have an input for each parameter with a hint, and each with choices. */
  readonly hint?: string
  /** The values of one that people choose among. */
  readonly choices?: readonly string[]
  /** Whether any text finds records, so that pages can propose some while a person types. */
  readonly findsText?: true
  /**
   * Reads the parameter into a plan. Left out of those that are read together, as the place of a page is.
   * @throws Problem `invalid_query`
   */
  read?(text: string, plan: Plan): void
}
