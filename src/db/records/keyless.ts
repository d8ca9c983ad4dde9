import type { ModelSpec } from '../../config/spec.js'
import type { Store } from './store.js'

/**
 * The operations of a store that need a primary key, for a model that has none.
 * @throws TypeError on each call
 */
export function withoutKey<Item, Items>({ name }: ModelSpec): Omit<Store<Item, Items>, 'list' | 'create'> {
  const reject = (operation: string) => (): never => {
    throw new TypeError(
      `${operation}() needs a primary key, and the model "${name}" has none: its records can only be listed and created`,
    )
  }
  return {
    batches: reject('batches'),
    retrieve: reject('retrieve'),
    lock: reject('lock'),
    mayRun: reject('mayRun'),
    covering: reject('covering'),
    createMany: reject('createMany'),
    retrieveMany: reject('retrieveMany'),
    lockMany: reject('lockMany'),
    destroyMany: reject('destroyMany'),
    update: reject('update'),
    destroy: reject('destroy'),
    take: reject('take'),
  }
}
