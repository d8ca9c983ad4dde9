import { OPERATIONS, READS, type Operation } from '../core-spec.js'
import type { ResourceYaml } from '../schema/yaml-shape.js'

/** What a resource offers, in the order of the list of all operations. */
export function operationsOf({
  operations,
  read_only,
}: Pick<ResourceYaml, 'operations' | 'read_only'>): readonly Operation[] {
  const given: readonly Operation[] = read_only ? READS : (operations ?? OPERATIONS)
  return OPERATIONS.filter((operation) => given.includes(operation))
}
