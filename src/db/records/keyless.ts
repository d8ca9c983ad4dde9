import type { ModelSpec } from '../../config/spec.js'
import type { Store } from './store.js'

/**
 * The operations of a store that need a primary key, for a model that has none.
 * @throws TypeError on each call
 */
export function withoutKey<Item, Items>({ name }: ModelSpec): Omit<Store<Item, Items>, 'list' | 'create'> {
  const refuse = (operation: string) => (): never => {
    throw new TypeError(
      `${operation}() needs a primary key, and the model "${name}" has none: its records can only be listed and created`,
    )
  }
  return {
    batches: refuse('batches'),
    retrieve: refuse('retrieve'),
    lock: refuse('lock'),
    createMany: refuse('createMany'),
    retrieveMany: refuse('retrieveMany'),
    lockMany: refuse('lockMany'),
    destroyMany: refuse('destroyMany'),
    update: refuse('update'),
    destroy: refuse('destroy'),
    take: refuse('take'),
  }
}
