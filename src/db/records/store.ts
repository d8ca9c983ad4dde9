import type { GrantSpec, ModelSpec } from '../../config/spec.js'
import type { Id, ListPage, ListPlan, Precondition, Row, Selection } from '../../resource/plan.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { ChangeOf, IdOf, InsertOf, RecordOf } from '../../resource/typed.js'

/** A record and its id. */
export interface Stored<Item, Key = Id> {
  readonly id: Key
  readonly item: Item
}

/** The records of one resource: one is returned as `Item`, several as `Items`. Input rows are keyed by field name. */
export interface Store<Item, Items = readonly Item[], Key = Id, Insert = Row, Change = Row> {
  list(plan: ListPlan): Promise<ListPage<Items>>
  /** Yields all records in primary-key order, one statement for each batch. */
  batches(size: number): AsyncIterable<Items>
  /** `selection` applies to documents; rows are always complete. */
  retrieve(id: Key, selection?: Selection): Promise<Item | undefined>
  /**
   * Retrieves the record and locks it until the transaction ends. Outside a transaction it only retrieves. Only documents support preconditions.
   * @throws Problem `precondition_failed`
   */
  lock(id: Key, only?: readonly Precondition[]): Promise<Item | undefined>
  /** Whether a grant allows the caller an action on a record. */
  mayRun(action: string, id: Key): Promise<boolean>
  /** Returns those of some grants of the caller that cover a record. */
  covering(grants: readonly GrantSpec[], id: Key): Promise<readonly GrantSpec[]>
  /**
   * @throws Problem `conflict` if the database returns no record, because a trigger has skipped the row or moved it to another table; outside a
   * transaction `outcome_unknown`, because a row that was moved is stored then. The same for `createMany`.
   */
  create(row: Insert): Promise<Stored<Item, Key>>
  /** Creates all or none, in few statements and one transaction; returns them in the order of the rows. */
  createMany(rows: readonly Insert[]): Promise<readonly Stored<Item, Key>[]>
  /** Returns the existing ones, ordered by id. */
  retrieveMany(ids: readonly Key[]): Promise<readonly Stored<Item, Key>[]>
  /** Locks the existing ones until the transaction ends; returns their ids. */
  lockMany(ids: readonly Key[]): Promise<readonly Key[]>
  /** Returns how many existed. */
  destroyMany(ids: readonly Key[]): Promise<number>
  /**
   * Sets the given fields; returns undefined if there is no such record. Preconditions, which only documents support, are checked by the statement
   * that changes the record.
   * @throws Problem `precondition_failed`; `conflict` if a trigger has skipped the change, in a transaction
   */
  update(id: Key, row: Change, only?: readonly Precondition[]): Promise<Item | undefined>
  /**
   * Returns whether the record existed. In a transaction, a record that a trigger deletes in its own way is deleted.
   * @throws Problem `precondition_failed`; `conflict` if a trigger has skipped the deletion, in a transaction
   */
  destroy(id: Key, only?: readonly Precondition[]): Promise<boolean>
  /**
   * Deletes a record and returns its last state; undefined if there is no such record.
   * @throws Problem `precondition_failed`
   */
  take(id: Key, only?: readonly Precondition[]): Promise<Item | undefined>
}

/** The operations of a store, each with the bounds of its request as the first argument. */
export type Bounded<Operations> = {
  readonly [Name in keyof Operations]: Operations[Name] extends (...given: infer Given) => infer Result
    ? (bounds: Bounds | undefined, ...given: Given) => Result
    : never
}

/** The records of a resource as values. */
export type RecordStore<Name> = Store<
  RecordOf<Name>,
  readonly RecordOf<Name>[],
  IdOf<Name>,
  InsertOf<Name>,
  ChangeOf<Name>
>

/** The records of a resource as JSON text; several are one array, in UTF-8. */
export type DocumentStore<Name> = Store<string, Uint8Array, IdOf<Name>, InsertOf<Name>, ChangeOf<Name>>

/** Half of what PostgreSQL accepts in one statement. */
const MAX_PARAMETERS = 32_000

/** The most records of few values in a statement. */
const MAX_ROWS = 1_000

/** Nearly all that PostgreSQL accepts in one statement, which also has the conditions of grants and scopes. */
const MAX_SET_PARAMETERS = 65_000

/**
 * Divides new records into those that one statement creates, by the number of their values. Several statements need a transaction, which stores do not
 * start themselves.
 */
export function splitRows<Given extends object>(
  { fields }: ModelSpec,
  rows: readonly Given[],
): readonly (readonly Given[])[] {
  const parts: Given[][] = []
  const holding = (values: number) => Math.floor(values / fields.length)
  // Grants and scopes may set all the fields that a record leaves out.
  const most = Math.max(Math.min(MAX_ROWS, holding(MAX_SET_PARAMETERS)), holding(MAX_PARAMETERS))
  let last: Given[] | undefined
  let count = 0
  for (const row of rows) {
    const size = Object.keys(row).length
    count += size
    if (last === undefined || last.length >= most || count > MAX_PARAMETERS) {
      parts.push((last = []))
      count = size
    }
    last.push(row)
  }
  return parts
}

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
