import type { BulkOperation, Operation as OperationName } from '../../config/spec.js'
import type { Resource } from '../../resource/resource.js'
import { create } from './create.js'
import { createOneOrMany } from './create-many.js'
import { destroy } from './destroy.js'
import { destroyMany } from './destroy-many.js'
import { dialectList } from './dialect-list.js'
import { list } from './list.js'
import type { Operation } from './operation.js'
import { retrieve } from './retrieve.js'
import { partialUpdate, update } from './update.js'
import { updateMany } from './update-many.js'

type Compile = (resource: Resource) => Operation

/** The generated operations on one record or on the collection. */
export const OPERATIONS: Readonly<Record<OperationName, Compile>> = {
  list: (resource) => (resource.spec.dialect ? dialectList(resource, resource.spec.dialect) : list(resource)),
  create,
  retrieve,
  update,
  partial_update: partialUpdate,
  destroy,
}

/** The generated operations on several records. */
export const BULK_FORMS: Readonly<Record<BulkOperation, Compile>> = {
  create: createOneOrMany,
  partial_update: updateMany,
  destroy: destroyMany,
}
