import type { CoreSpec, Operation } from '../config/core-spec.js'
import type { Json, JsonSchema } from '../json.js'
import { distinct, type DistinctPlan, type DistinctSpec } from './distinct.js'
import { expand, type ExpandSpec } from './expand.js'
import type { Feature, MountNames, QueryParameter } from './feature.js'
import { search, type SearchPlan, type SearchSpec } from './search.js'
import type { SelectionPlan } from './selection.js'
import { sparseFields, type SparseFieldsSpec } from './sparse-fields.js'

/** Every feature of resources, in the order of the reference. A new one is a file, its line here, and its types below. */
export const FEATURES: readonly Feature[] = Object.freeze([search, sparseFields, expand, distinct])

/** What the features add to the spec of a resource. */
export interface FeatureSpecs extends SearchSpec, SparseFieldsSpec, ExpandSpec, DistinctSpec {}

/** What their parameters add to the plan of a list. */
export interface FeaturePlans extends SearchPlan, SelectionPlan, DistinctPlan {}

/** The schemas of all keys. */
export function featureKeys(): Readonly<Record<string, JsonSchema>> {
  return Object.assign({}, ...FEATURES.map(({ keys }) => keys)) as Record<string, JsonSchema>
}

/** The query parameters that an operation of a resource takes on account of its features. */
export function featureParameters(
  spec: CoreSpec & FeatureSpecs,
  operation: Operation,
): readonly QueryParameter<FeaturePlans>[] {
  return inEffect(spec)
    .flatMap((feature) => feature.parameters?.(spec) ?? [])
    .filter(({ on }) => on.includes(operation))
}

/** What the features add to the description that OPTIONS answers. */
export function featureOptions(spec: CoreSpec & FeatureSpecs): Readonly<Record<string, Json>> {
  return Object.assign({}, ...inEffect(spec).map((feature) => feature.options?.(spec))) as Record<string, Json>
}

/** What the features add to the spec of a resource at a mount. */
export function featuresAtMount(spec: FeatureSpecs, at: MountNames): FeatureSpecs {
  return Object.assign({}, ...FEATURES.map((feature) => feature.mount?.(spec, at))) as FeatureSpecs
}

function inEffect({ dialect }: Pick<CoreSpec, 'dialect'>): readonly Feature[] {
  return dialect === undefined ? FEATURES : FEATURES.filter(({ plainOnly }) => !plainOnly)
}
