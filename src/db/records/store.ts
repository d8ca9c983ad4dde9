import type { ModelSpec } from '../../config/spec.js'
import type { Id, ListPage, ListPlan, Precondition, Row, Selection } from '../../resource/plan.js'
import type { ChangeOf, IdOf, InsertOf, RecordOf } from '../../resource/typed.js'

/** A record and its id. */
export interface Stored<Item, Key = Id> {
  readonly id: Key
  readonly item: Item
}

/** The records of one resource, each answered in the form `Item` and several in the form `Items`. Rows go in by field name. */
export interface Store<Item, Items = readonly Item[], Key = Id, Insert = Row, Change = Row> {
  list(plan: ListPlan): Promise<ListPage<Items>>
  /** All records in primary-key order, in batches, one statement each. */
  batches(size: number): AsyncIterable<Items>
  /** Documents can be asked for in part; rows are always whole. */
  retrieve(id: Key, selection?: Selection): Promise<Item | undefined>
  /** As `retrieve`, and until the transaction ends nobody else changes the record; outside of one it only retrieves. */
  lock(id: Key): Promise<Item | undefined>
  create(row: Insert): Promise<Stored<Item, Key>>
  /** Makes all of them or none, in few statements and one transaction; answers them in the order of the rows. */
  createMany(rows: readonly Insert[]): Promise<readonly Stored<Item, Key>[]>
  /** Those that are there, in the order of their ids. */
  retrieveMany(ids: readonly Key[]): Promise<readonly Stored<Item, Key>[]>
  /** The ids of those that are there; until the transaction ends nobody else changes these records. */
  lockMany(ids: readonly Key[]): Promise<readonly Key[]>
  /** How many of them there were. */
  destroyMany(ids: readonly Key[]): Promise<number>
  /**
   * Sets the given fields; undefined when there is no such record. Preconditions, which documents alone can have, are judged by the
   * statement that changes the record.
   * @throws Problem `precondition_failed`
   */
  update(id: Key, row: Change, only?: readonly Precondition[]): Promise<Item | undefined>
  /**
   * Whether there was such a record.
   * @throws Problem `precondition_failed`
   */
  destroy(id: Key, only?: readonly Precondition[]): Promise<boolean>
  /**
   * Destroys a record and answers it as it was; undefined when there is no such record.
   * @throws Problem `precondition_failed`
   */
  take(id: Key, only?: readonly Precondition[]): Promise<Item | undefined>
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

/** PostgreSQL takes twice as many in one statement. */
const MOST_PARAMETERS = 32_000

/** How many records of a model one statement makes. More of them need a transaction, which stores themselves do not begin. */
export function rowsPerStatement({ fields }: ModelSpec): number {
  return Math.floor(MOST_PARAMETERS / fields.length)
}
