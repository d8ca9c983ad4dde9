import type { FieldType } from '../../fields/field-type.js'
import type { IndexMethod } from '../model-spec.js'

function isCompared({ comparisons }: FieldType): boolean {
  return comparisons.includes('equality')
}

const SUPPORTS: Readonly<Record<IndexMethod, (type: FieldType) => boolean>> = {
  btree: () => true,
  hash: isCompared,
  brin: ({ orderable }) => orderable,
  gin: (type) => !isCompared(type),
  gist: ({ readOnly }) => readOnly === true,
}

/** Whether indexes of a kind may have fields of a type. */
export function supportsType(method: IndexMethod, type: FieldType): boolean {
  return SUPPORTS[method](type)
}

/** The values that indexes of each kind are for. */
export const PURPOSE: Readonly<Record<IndexMethod, string>> = {
  btree: 'values that have an order',
  hash: 'values that are compared for equality',
  brin: 'values that grow with the time of creation',
  gin: 'lists and JSON',
  gist: 'ranges and points',
}
