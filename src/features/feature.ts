import type { CoreSpec, ExpansionSpec, Operation } from '../config/core-spec.js'
import type { FieldSpec, ModelSpec } from '../config/model-spec.js'
import type { IndexNeeds } from '../config/indexes/coverage.js'
import type { RuleParts } from '../config/parse/access-rules.js'
import type { AuthDraft } from '../config/parse/auth-draft.js'
import type { Drafts } from '../config/parse/drafts.js'
import type { Report } from '../config/parse/report.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import type { ResourceYaml } from '../config/schema/yaml-shape.js'
import type { Typed } from '../fields/field-type.js'
import type { Json, JsonSchema, Literal } from '../foundation/json.js'
import type { ProblemType } from '../foundation/problem.js'

/**
 * A feature of a resource, one object in one file: one or a few of the resource's keys in resources.yaml, and everything that they mean. Documents,
 * OPTIONS, types, pages and editors loop over the list of features and know none of them by name.
 *
 * `Spec` is what the feature adds to the spec of a resource; `Plan` is what its parameters add to the plan of a list; `Others` is the part
 * of other features' specs that it reads.
 */
export interface Feature<Spec extends object = object, Plan extends object = object, Others extends object = object> {
  /** The schema of each key, with its description and an example. */
  readonly keys: Readonly<Record<string, JsonSchema>>
  /** The names of each key in other tools; the help for an unknown key uses them to suggest this one. */
  readonly synonyms?: Readonly<Record<string, readonly string[]>>
  /** Whether a dialect disables the keys, because its clients have parameters of their own. */
  readonly plainOnly?: true
  /**
   * Reports every mistake under the keys, with its place.
   * @returns a function that builds the spec; it is called only for a configuration without mistakes
   */
  parse(resource: ResourceDraft, scope: Scope): Build<Spec>
  /** Names that no filter of the resource may have, because its lists use them. */
  reserves?(resource: Pick<ResourceDraft, 'given'>): readonly string[]
  /** The query parameters that the feature adds to the resource. */
  parameters?(spec: CoreSpec & Spec & Others, readLink?: LinkReader): readonly QueryParameter<Plan>[]
  /** The parameters that select parts of records, or related ones. Resources in a dialect do not have them. */
  readonly selects?: readonly string[]
  /** The parameters in a plan that no index can serve, besides its conditions. */
  unserved?(plan: Readonly<Plan>): readonly string[]
  /** The spec of the resource at a mount, where resources and routes have other names. */
  mount?(spec: Spec, at: MountNames): Spec
  /** The parts of the spec that differ for callers who see only some fields. */
  restrict?(spec: CoreSpec & Spec & Others, caller: Visibility): Partial<Spec>
  /** The fields of responses that are not stored. Bodies may contain them: they are ignored. */
  shows?(spec: CoreSpec & Spec & Others): readonly FieldSpec[]
  /** The members that the parameters of `selects` add to records. Bodies may contain them: they are ignored. */
  joins?(spec: CoreSpec & Spec & Others, describe: DescribeRecord): Readonly<Record<string, JsonSchema>>
  /** The members that the feature adds to the description for OPTIONS. */
  options?(spec: CoreSpec & Spec & Others): Readonly<Record<string, Json>>
  /** The parts that the feature adds to the documentation of an operation, besides its query parameters. */
  responses?(spec: CoreSpec & Spec & Others, described: DescribedOperation): ResponseParts
  /**
   * The members that the feature adds to the types of a resource for plugins, each an object of types by name.
   * @param record the type of a record
   */
  types?(spec: CoreSpec & Spec & Others, record: string): Readonly<Record<string, TypesByName>>
  /** The ways in which its lists find or order rows, as far as an index can help. */
  indexes?(spec: CoreSpec & Spec & Others): readonly IndexUse[]
}

/** Types of TypeScript. */
export type TypesByName = Readonly<Record<string, string>>

/** The parts of a resource that some callers see. */
export interface Visibility {
  /** Whether lists can use a field in parameters, because some of their records show it. */
  asks(field: string): boolean
  /** Whether every record shows a field. */
  always(field: string): boolean
  /** A related record as callers see it; undefined if they see none, or do not see the relation in every record. */
  expansion(expansion: ExpansionSpec): ExpansionSpec | undefined
  /** Whether lists include all records. */
  readonly seesAll: boolean
}

/** The declarations that a feature may refer to, and the report for mistakes. */
export interface Scope {
  readonly resources: readonly ResourceDraft[]
  readonly models: Drafts
  /** Undefined without `auth`. */
  readonly auth: AuthDraft | undefined
  readonly report: Report
  /** The names that no filter of a resource may have. */
  reserved(resource: Pick<ResourceDraft, 'given'>): ReadonlySet<string>
  /** The message of the first rule of a field that a value breaks. */
  brokenRule(field: Typed, value: Literal): string | undefined
}

/** Parses the value of a relation given as a link; undefined if the field does not accept links or if the link leads elsewhere. */
export type LinkReader = (field: FieldSpec, value: Json) => unknown

/** The schemas of the members of a record with these fields. */
export type DescribeRecord = (shown: {
  readonly url: boolean
  readonly links: Readonly<Record<string, string>>
  readonly fields: readonly FieldSpec[]
}) => Readonly<Record<string, JsonSchema>>

/** The new names of resources and links at a mount. */
export interface MountNames {
  resource(name: string): string
  /** Fields shown as links, with their routes. */
  links(links: Readonly<Record<string, string>>): Readonly<Record<string, string>>
}

/** Builds the part of a spec that belongs to a feature. */
export type Build<Spec> = (declared: Declared) => Spec

/** The parts that specs are built from. */
export interface Declared {
  readonly model: ModelSpec
  readonly models: ReadonlyMap<string, ModelSpec>
  /** The parts that rules refer to. */
  readonly rules: RuleParts
  readonly resources: Readonly<Record<string, ResourceYaml>>
  /** The field of the model with this name, which `parse` has verified. */
  field(name: string): FieldSpec
}

/** The operation that a document describes. */
export interface DescribedOperation {
  /** `action` stands for actions that clients send by POST. */
  readonly operation: Operation | 'action'
  /** Whether it applies to several records at once. */
  readonly bulk?: boolean | undefined
}

/** The documentation of a header. */
export interface HeaderDescription {
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
  /** Makes a value that every such request can have. */
  readonly any?: () => string
}

/** The parts that a feature adds to the description of an operation. */
export interface ResponseParts {
  /** Headers of the request, by name. */
  readonly requestHeaders?: Readonly<Record<string, HeaderDescription>>
  /** Names of headers of the response. */
  readonly headers?: readonly string[]
  /** The problems with which it can be rejected. */
  readonly problems?: readonly ProblemType[]
  /** Responses other than the usual one and problems, by status. */
  readonly answers?: Readonly<Record<number, { readonly description: string; readonly headers: readonly string[] }>>
  /** Whether the usual response has no body if the caller may not see the record. */
  readonly mayLackBody?: boolean
  /** The schema of the response of a list that is not an array. */
  readonly wrap?: (items: JsonSchema) => JsonSchema
}

/** One way in which lists find or order rows by a field. */
export interface IndexUse {
  /** The first field of the index. */
  readonly field: FieldSpec
  /** The model of the field, if it is not that of the resource. */
  readonly model?: ModelSpec
  /** Left out if lists do without an index. */
  readonly need?: IndexNeed
}

/** The index without which a list reads or sorts the whole table. */
export interface IndexNeed {
  /** The key of the resource that needs it. */
  readonly key: string
  /** The place of the field under the key, if the key has a list; left out if the whole key needs the index. */
  readonly place?: number
  /** The name under the key, if it is not that of the field. */
  readonly entry?: string
  /** The consequence of a missing index, in one sentence. */
  readonly cost: string
  /** The minimum that an index must serve. */
  readonly wanted: IndexNeeds
  /** The fields of the best index. */
  readonly best: readonly FieldSpec[]
}

/**
 * The purpose of a parameter, if others need to know it: it filters or orders a list, or it sets the start or the size of a
 * page, so that links between pages replace it.
 */
export type ParameterRole = 'filter' | 'order' | 'page' | 'size'

/** A query parameter: how it is read, described and typed. Lists, single records and dialects use the same objects. */
export interface QueryParameter<Plan extends object = object> {
  readonly name: string
  readonly on: readonly Operation[]
  readonly role?: ParameterRole
  /** One or two sentences for documents. */
  readonly description: string
  /** An array if the parameter takes several values. */
  readonly schema: JsonSchema
  /** Whether it takes several values, separated by commas. */
  readonly several?: true
  /** Its TypeScript type, for code that queries lists. */
  readonly typescript: string
  /** Whether responses may then have parts of records. It is documented on separate paths, so that other responses are known to be complete. */
  readonly partial?: true
  /** Parameters that cannot be combined with it. */
  readonly excludes?: readonly string[]
  /** What to type into its input. Pages have an input for each parameter that has a hint or choices. */
  readonly hint?: string
  /** The values to choose from. */
  readonly choices?: readonly string[]
  /** Whether any text finds records, so that pages can make suggestions while a person types. */
  readonly findsText?: true
  /**
   * Reads the parameter into a plan. Left out for parameters that are read together, such as the parameters of pages.
   * @throws Problem `invalid_query`
   */
  read?(text: string, plan: Plan): void
}
