import type { CoreSpec, Operation } from '../config/core-spec.js'
import type { FieldSpec } from '../config/model-spec.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import { access, type AccessSpec } from './access.js'
import { bulk, type BulkSpec } from './bulk.js'
import { computed, type ComputedFields } from './computed.js'
import { concurrency, type ConcurrencySpec } from './concurrency.js'
import { distinct, type DistinctPlan, type DistinctSpec } from './distinct.js'
import { expand, type ExpandSpec } from './expand.js'
import { exporting, type ExportSpec } from './export.js'
import type {
  DescribedOperation,
  DescribeRecord,
  Feature,
  IndexUse,
  LinkReader,
  MountNames,
  QueryParameter,
  ResponseParts,
  TypesByName,
  Visibility,
} from './feature.js'
import { filterable, type FilterableSpec, type FilterPlan } from './filterable.js'
import { idempotency, type IdempotencySpec } from './idempotency.js'
import { label, type LabelSpec } from './label.js'
import { orderable, type OrderableSpec, type OrderPlan } from './orderable.js'
import { pagination, type PaginationSpec } from './pagination.js'
import { search, type SearchPlan, type SearchSpec } from './search.js'
import type { SelectionPlan } from './selection.js'
import { sparseFields, type SparseFieldsSpec } from './sparse-fields.js'

/** Every feature of resources, in the order of the reference. A new one is a file, its line here, and its types below. */
export const FEATURES: readonly Feature[] = Object.freeze([
  access,
  computed,
  concurrency,
  idempotency,
  bulk,
  search,
  sparseFields,
  expand,
  distinct,
  filterable,
  orderable,
  pagination,
  exporting,
  label,
])

/** The parts that the features add to the spec of a resource. */
export interface FeatureSpecs
  extends AccessSpec,
    ComputedFields,
    ConcurrencySpec,
    IdempotencySpec,
    BulkSpec,
    SearchSpec,
    SparseFieldsSpec,
    ExpandSpec,
    DistinctSpec,
    FilterableSpec,
    OrderableSpec,
    PaginationSpec,
    ExportSpec,
    LabelSpec {}

/** The parts that their parameters add to the plan of a list. */
export interface FeaturePlans extends SearchPlan, SelectionPlan, DistinctPlan, FilterPlan, OrderPlan {}

/** The schemas of all keys. */
export function featureKeys(): Readonly<Record<string, JsonSchema>> {
  return Object.assign({}, ...FEATURES.map(({ keys }) => keys)) as Record<string, JsonSchema>
}

/** The names of each key in other tools. */
export const KEY_SYNONYMS: readonly (readonly [key: string, words: readonly string[]])[] = FEATURES.flatMap(
  ({ synonyms = {} }) => Object.entries(synonyms),
)

/** The query parameters that the features add to an operation of a resource, filters first. */
export function featureParameters(
  spec: CoreSpec & FeatureSpecs,
  operation: Operation,
  readLink?: LinkReader,
): readonly QueryParameter<FeaturePlans>[] {
  const parameters = inEffect(spec)
    .flatMap((feature) => feature.parameters?.(spec, readLink) ?? [])
    .filter(({ on }) => on.includes(operation))
  return [...parameters.filter(isFilter), ...parameters.filter((each) => !isFilter(each))]
}

/** The members that the features add to the types of a resource for plugins. */
export function featureTypes(
  spec: CoreSpec & FeatureSpecs,
  record: string,
): readonly (readonly [member: string, types: TypesByName])[] {
  return FEATURES.flatMap((feature) => Object.entries(feature.types?.(spec, record) ?? {}))
}

/** The fields of responses that are not stored. */
export function featureFields(spec: CoreSpec & FeatureSpecs): readonly FieldSpec[] {
  return FEATURES.flatMap((feature) => feature.shows?.(spec) ?? [])
}

/** The schemas of the members that the parameters of `SELECTION` add to records. */
export function joinedMembers(
  spec: CoreSpec & FeatureSpecs,
  describe: DescribeRecord = () => ({}),
): Readonly<Record<string, JsonSchema>> {
  return Object.assign({}, ...FEATURES.map((feature) => feature.joins?.(spec, describe))) as Record<string, JsonSchema>
}

/** The members of responses that clients cannot set, except stored fields. */
export function unsettableMembers(spec: CoreSpec & FeatureSpecs): readonly string[] {
  return [...featureFields(spec).map(({ name }) => name), ...Object.keys(joinedMembers(spec))]
}

/** The members that the features add to the description for OPTIONS. */
export function featureOptions(spec: CoreSpec & FeatureSpecs): Readonly<Record<string, Json>> {
  return Object.assign({}, ...inEffect(spec).map((feature) => feature.options?.(spec))) as Record<string, Json>
}

/** The parameters that the lists of a resource use, so that no filter can have their names. */
export function reservedParameters(resource: Pick<ResourceDraft, 'given'>): ReadonlySet<string> {
  return new Set(FEATURES.flatMap((feature) => feature.reserves?.(resource) ?? []))
}

/** Whether a parameter sets the start or the size of a page. */
export function placesPage({ role }: QueryParameter): boolean {
  return role === 'page' || role === 'size'
}

/** Whether a parameter filters lists by a field that the resource names. */
export function isFilter({ role }: QueryParameter): boolean {
  return role === 'filter'
}

/** The parts that the features of a resource add to the documentation of an operation, besides query parameters. */
export function featureResponses(
  spec: CoreSpec & FeatureSpecs,
  described: DescribedOperation,
): readonly ResponseParts[] {
  return inEffect(spec).flatMap((feature) => feature.responses?.(spec, described) ?? [])
}

/** The ways in which the lists of a resource find or order rows, as far as an index can help. */
export function indexUses(spec: CoreSpec & FeatureSpecs): readonly IndexUse[] {
  return spec.operations.includes('list') ? FEATURES.flatMap((feature) => feature.indexes?.(spec) ?? []) : []
}

/** The parameters that select parts of records, or related ones, for resources without a dialect. */
export const SELECTION: readonly string[] = FEATURES.flatMap(({ selects = [] }) => selects)

/** The parameters of a list that no index can serve, besides its conditions. */
export function unservedParameters(plan: Readonly<FeaturePlans>): readonly string[] {
  return FEATURES.flatMap((feature) => feature.unserved?.(plan) ?? [])
}

/** The parts that the features add to the spec of a resource at a mount. */
export function featuresAtMount(spec: FeatureSpecs, at: MountNames): FeatureSpecs {
  return Object.assign({}, ...FEATURES.map((feature) => feature.mount?.(spec, at))) as FeatureSpecs
}

/** The parts of a resource's spec that features change for callers who see only some of its fields. */
export function featuresFor(spec: CoreSpec & FeatureSpecs, caller: Visibility): Partial<FeatureSpecs> {
  return Object.assign({}, ...FEATURES.map((feature) => feature.restrict?.(spec, caller))) as Partial<FeatureSpecs>
}

function inEffect({ dialect }: Pick<CoreSpec, 'dialect'>): readonly Feature[] {
  return dialect === undefined ? FEATURES : FEATURES.filter(({ plainOnly }) => !plainOnly)
}
