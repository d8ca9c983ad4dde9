import { OPERATIONS, type Operation } from './spec.js'
import type { ResourceYaml } from './yaml-shape.js'

const READ_ONLY: readonly Operation[] = ['list', 'retrieve']

/** What a resource offers, in the order of the list of all operations. */
export const operationsOf = ({
  operations,
  read_only,
}: Pick<ResourceYaml, 'operations' | 'read_only'>): readonly Operation[] => {
  const given = read_only ? READ_ONLY : (operations ?? OPERATIONS)
  return OPERATIONS.filter((operation) => given.includes(operation))
}
