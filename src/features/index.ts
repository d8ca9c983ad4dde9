import type { CoreSpec, Operation } from '../config/core-spec.js'
import type { Json, JsonSchema } from '../json.js'
import type { Feature, QueryParameter } from './feature.js'
import { search, type SearchPlan, type SearchSpec } from './search.js'

/** Every feature of resources, in the order of the reference. A new one is a file, its line here, and its types below. */
export const FEATURES: readonly Feature[] = Object.freeze([search])

/** What the features add to the spec of a resource. */
export interface FeatureSpecs extends SearchSpec {}

/** What their parameters add to the plan of a list. */
export interface FeaturePlans extends SearchPlan {}

/** The schemas of all keys. */
export function featureKeys(): Readonly<Record<string, JsonSchema>> {
  return Object.assign({}, ...FEATURES.map(({ keys }) => keys)) as Record<string, JsonSchema>
}

/** The query parameters that an operation of a resource takes on account of its features. */
export function featureParameters(
  spec: CoreSpec & FeatureSpecs,
  operation: Operation,
): readonly QueryParameter<FeaturePlans>[] {
  return FEATURES.flatMap((feature) => feature.parameters?.(spec) ?? []).filter(({ on }) => on.includes(operation))
}

/** What the features add to the description that OPTIONS answers. */
export function featureOptions(spec: CoreSpec & FeatureSpecs): Readonly<Record<string, Json>> {
  return Object.assign({}, ...FEATURES.map((feature) => feature.options?.(spec))) as Record<string, Json>
}
