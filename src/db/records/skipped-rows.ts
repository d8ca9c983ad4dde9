import type { ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import { Problem } from '../../foundation/problem.js'
import type { Connection } from '../database.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { Statements } from '../statements/statements.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

/** A change of a record that a trigger or a rule can skip; `same`, an update that changes nothing, by PostgreSQL's own trigger for that. */
export type Skippable = 'insert' | 'update' | 'delete' | 'same'

/**
 * Knows the models of which the database may skip a change: a trigger can skip the row, after it has perhaps written another one. Outside a transaction,
 * what the trigger did would stay, although no check has run.
 */
export interface SkippedRows {
  /** Whether a change needs a transaction, which can be rolled back. Asks the database once for each model, in a transaction by its connection. */
  maySkip(model: ModelSpec, change: Skippable, connection?: Connection): boolean | Promise<boolean>
  /** Notes that the database has not returned a new record of a model. */
  note(model: ModelSpec): void
}

/**
 * Whether a trigger or a rule of a table may skip a row, by kind of change: all may but triggers that only return the row, and set no more than its
 * columns. Those of a view may be those of any table. A function in another language than PL/pgSQL may do anything. The last row is about PostgreSQL's
 * own trigger that skips updates without a change.
 */
const MAY_SKIP = `
  select (c.relkind = 'v' and k.n = 1
    or exists (
      select from pg_rewrite r where (ev_class = c.oid or c.relkind = 'v' and r.oid >= 16384)
        and is_instead and ev_type = k.rule::"char" and ev_enabled in ('O', 'A'))
    or exists (
      select from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_language l on l.oid = p.prolang
      where not t.tgisinternal and t.tgenabled in ('O', 'A')
        and t.tgtype & 1 > 0 and t.tgtype & (2 | 64) > 0 and t.tgtype & k.event > 0
        and (c.relkind = 'v' or t.tgrelid in (select c.oid union select relid from pg_partition_tree(c.oid)))
        and p.pronamespace <> 'pg_catalog'::regnamespace
        and (l.lanname <> 'plpgsql' or p.prosrc ~* k.skips))
    or k.n = 4 and exists (
      select from pg_trigger t where t.tgfoid = 'suppress_redundant_updates_trigger'::regproc and t.tgenabled in ('O', 'A')
        and t.tgrelid in (select c.oid union select relid from pg_partition_tree(c.oid))))::text
  from pg_class c, (values
    (1, '3', 4, '\\mreturn\\M(?!\\s+new\\s*;)|\\mnew\\s*:?='),
    (2, '2', 16, '\\mreturn\\M(?!\\s+(?:new|old)\\s*;)|\\m(?:new|old)\\s*:?='),
    (3, '4', 8, '\\mreturn\\M(?!\\s+old\\s*;)|\\mold\\s*:?='),
    (4, null, 0, null)) as k (n, rule, event, skips)
  where c.oid = to_regclass($1) order by n`

const ORDER: readonly Skippable[] = ['insert', 'update', 'delete', 'same']

export function watchSkippedRows(outside: Connection): SkippedRows {
  const known = new Map<ModelSpec, Set<Skippable>>()
  const ask = async (model: ModelSpec, change: Skippable, connection: Connection): Promise<boolean> => {
    const { rows } = await connection.query({ text: MAY_SKIP, values: [tableSql(model.table)], retry: true })
    const found = known.get(model) ?? new Set(ORDER.filter((_, place) => rows[place]?.[0] === 'true'))
    known.set(model, found)
    return found.has(change)
  }
  return {
    maySkip: (model, change, connection = outside) => known.get(model)?.has(change) ?? ask(model, change, connection),
    note: (model) => void known.set(model, new Set(ORDER)),
  }
}

interface Bound {
  readonly model: ModelSpec
  readonly statements: Statements
  readonly sender: Sender
  readonly skipped: SkippedRows
  readonly connection: Connection
}

type Fate = 'deleted' | 'kept' | 'missing'

const KEPT = 'The database did not change the record: a trigger, a rule or a policy prevented it'

/** Finds out what became of a record whose change the database may have skipped, which is known only within a transaction. */
export function skipsOn({ model, statements, sender, skipped, connection }: Bound) {
  const digestOf = async (bounds: Bounds | undefined, id: readonly string[]) =>
    (await sender.read(follow(statements.digests(bounds, [id])))).rows[0]?.[0]

  const maySkip = async (change: Skippable) => sender.inTransaction && skipped.maySkip(model, change, connection)

  const isSame = async () => skipped.maySkip(model, 'same', connection)

  const hasWritten = async () =>
    (await sender.read(follow({ text: 'select pg_current_xact_id_if_assigned()::text', values: [] }))).rows[0]?.[0] !=
    null

  const rejectKept = (): never => {
    throw new Problem('conflict', KEPT)
  }

  return {
    /** Whether a trigger or a rule may skip a change in this transaction. */
    maySkip,
    /** Whether an update that finds no row may have found one that already has the values. */
    isSame,
    /** The digest of a record before a change that a trigger may skip; undefined if none may, or if the request sees no such record. */
    async digestBefore(change: Skippable, bounds: Bounds | undefined, id: readonly string[]) {
      return (await maySkip(change)) ? digestOf(bounds, id) : undefined
    },
    rejectKept,
    /**
     * What became of a record that was not deleted: a trigger has deleted it in a way of its own (it has changed the row, or the request no longer sees
     * it), the database has kept it, or the request sees no such record.
     */
    async fateOf(bounds: Bounds | undefined, id: readonly string[], before: unknown): Promise<Fate> {
      if (before === undefined) return 'missing'
      const after = await digestOf(bounds, id)
      // If this transaction has written nothing, another one has changed the row.
      if (after !== before && (await hasWritten())) return 'deleted'
      return after === undefined ? 'missing' : 'kept'
    },
  }
}
