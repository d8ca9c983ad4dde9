import type { CoreSpec, FieldSpec, ModelSpec, Operation } from '../config/core-spec.js'
import type { Drafts } from '../config/parse/drafts.js'
import type { Report } from '../config/parse/report.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import type { ResourceYaml } from '../config/schema/yaml-shape.js'
import type { Json, JsonSchema } from '../json.js'

/**
 * A feature of a resource, one object in one file: one key of it in resources.yaml, or a few, and everything that they mean. Documents,
 * OPTIONS, types, pages and editors go through the list of features and know none of them by name.
 *
 * `Spec` is what the feature adds to the spec of a resource; `Plan` is what its parameters add to the plan of a list.
 */
export interface Feature<Spec extends object = object, Plan extends object = object> {
  /** The schema of each key, with its description and an example. */
  readonly keys: Readonly<Record<string, JsonSchema>>
  /** Whether the keys have no effect for a resource in a dialect, whose clients have parameters of their own. */
  readonly plainOnly?: true
  /**
   * Reports every mistake under the keys, with its place.
   * @returns how the spec is built; called only for a configuration without mistakes
   */
  parse(resource: ResourceDraft, scope: Scope): Build<Spec>
  /** The names that no filter of the resource may have, because its lists use them. */
  reserves?(resource: ResourceDraft): readonly string[]
  /** The query parameters that the resource takes on account of the feature. */
  parameters?(spec: CoreSpec & Spec): readonly QueryParameter<Plan>[]
  /** The spec of the same resource at a mount, where it and the others have other names. */
  mount?(spec: Spec, at: MountNames): Spec
  /** The members of the description that OPTIONS answers. */
  options?(spec: CoreSpec & Spec): Readonly<Record<string, Json>>
}

/** What a feature may refer to, and where it reports mistakes. */
export interface Scope {
  readonly resources: readonly ResourceDraft[]
  readonly models: Drafts
  readonly report: Report
}

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
  readonly resources: Readonly<Record<string, ResourceYaml>>
  /** The field of the model that has this name, which `parse` has made sure of. */
  field(name: string): FieldSpec
}

/** One query parameter: how it is read, described and typed. Lists, single records and dialects use the same objects. */
export interface QueryParameter<Plan extends object = object> {
  readonly name: string
  readonly on: readonly Operation[]
  /** One sentence or two for documents. */
  readonly description: string
  /** Of a parameter that takes values between commas, an array. */
  readonly schema: JsonSchema
  /** Its type for code that makes lists. */
  readonly typescript: string
  /** Whether answers then hold parts of records. It is documented on the paths of parts, so that other answers are known to be whole. */
  readonly partial?: true
  /** Parameters that do not go together with it. */
  readonly excludes?: readonly string[]
  /** How people are told what to type. Pages have an input for each parameter with a hint. */
  readonly hint?: string
  /** Whether any text finds records, so that pages can propose some while a person types. */
  readonly findsText?: true
  /**
   * Reads the parameter into a plan.
   * @throws Problem `invalid_query`
   */
  read(text: string, plan: Plan): void
}
