import type { ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import { Problem } from '../../foundation/problem.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id, Row } from '../../resource/plan.js'
import type { Connection } from '../database.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { Statements } from '../statements/statements.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

/** A change of a record. */
export type Change = 'insert' | 'update' | 'delete'

/**
 * Knows what the triggers and rules of a model's table may do to a change, by its kind. Asks the database once for each model, in a transaction by its
 * connection.
 */
export interface SkippedRows {
  /**
   * Whether a change needs a transaction: a trigger may skip the row, after it has perhaps written another one, which would stay although no check has
   * run; or the record must be read again.
   */
  needsTransaction(model: ModelSpec, change: Change): boolean | Promise<boolean>
  /** Whether a trigger or a rule may skip a change. */
  maySkip(model: ModelSpec, change: Change, connection: Connection): boolean | Promise<boolean>
  /** Whether a trigger may change the record after the change has returned it. */
  mayRewrite(model: ModelSpec, change: 'insert' | 'update', connection: Connection): boolean | Promise<boolean>
  /** Whether PostgreSQL's own trigger skips updates that change nothing. */
  skipsSame(model: ModelSpec, connection: Connection): boolean | Promise<boolean>
  /** The columns that the user of the database may read; undefined for all. */
  readable(model: ModelSpec, connection: Connection): Promise<readonly string[] | undefined>
  /** Notes that the database has not returned a new record of a model. */
  note(model: ModelSpec): void
}

/**
 * Whether a trigger or a rule of a table may skip a row, by kind of change: all may but triggers that only return the row, and set no more than its
 * columns. Those of a view may be those of any table. A function in another language than PL/pgSQL may do anything. The last row is about PostgreSQL's
 * own trigger that skips updates without a change.
 *
 * An AFTER trigger may change the row again if its function updates anything or runs other code; for a view, the trigger in place of the change may.
 * Deferred triggers run too late to be seen.
 */
const TRIGGERS = `
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
        and t.tgrelid in (select c.oid union select relid from pg_partition_tree(c.oid))))::text,
  exists (
    select from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_language l on l.oid = p.prolang
    where not t.tgisinternal and not t.tginitdeferred and t.tgenabled in ('O', 'A')
      and t.tgtype & 2 = 0 and t.tgtype & k.event & (4 | 16) > 0
      and (c.relkind = 'v' or t.tgrelid in (select c.oid union select relid from pg_partition_tree(c.oid)))
      and p.pronamespace <> 'pg_catalog'::regnamespace
      and (t.tgtype & 64 > 0 or l.lanname <> 'plpgsql'
        or regexp_replace(p.prosrc, '''[^'']*''', '', 'g') ~* '\\m(update|merge|execute|perform|call)\\M'))::text,
  (select json_agg(a.attname order by a.attnum) from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and not has_table_privilege(c.oid, 'SELECT')
      and has_column_privilege(c.oid, a.attnum, 'SELECT'))::text
  from pg_class c, (values
    (1, '3', 4, '\\mreturn\\M(?!\\s+new\\s*;)|\\mnew\\s*:?='),
    (2, '2', 16, '\\mreturn\\M(?!\\s+(?:new|old)\\s*;)|\\m(?:new|old)\\s*:?='),
    (3, '4', 8, '\\mreturn\\M(?!\\s+old\\s*;)|\\mold\\s*:?='),
    (4, null, 0, null)) as k (n, rule, event, skips)
  where c.oid = to_regclass($1) order by n`

const ORDER = ['insert', 'update', 'delete', 'same'] as const

/** What triggers may do. */
interface Effects {
  readonly skipped: ReadonlySet<(typeof ORDER)[number]>
  readonly rewritten: ReadonlySet<(typeof ORDER)[number]>
  readonly readable: readonly string[] | undefined
}

const NONE: Effects = { skipped: new Set(), rewritten: new Set(), readable: undefined }

export function watchSkippedRows(outside: Connection): SkippedRows {
  const known = new Map<ModelSpec, Effects>()
  const ask = async (model: ModelSpec, connection: Connection): Promise<Effects> => {
    const { rows } = await connection.query({ text: TRIGGERS, values: [tableSql(model.table)], retry: true })
    const kinds = (column: number) => new Set(ORDER.filter((_, place) => rows[place]?.[column] === 'true'))
    const readable = rows[0]?.[2]
    const effects = known.get(model) ?? {
      skipped: kinds(0),
      rewritten: kinds(1),
      readable: readable == null ? undefined : (JSON.parse(readable) as readonly string[]),
    }
    known.set(model, effects)
    return effects
  }
  const about = <Answer>(model: ModelSpec, connection: Connection, answer: (effects: Effects) => Answer) => {
    const effects = known.get(model)
    return effects ? answer(effects) : ask(model, connection).then(answer)
  }
  return {
    needsTransaction: (model, change) =>
      about(model, outside, ({ skipped, rewritten }) => skipped.has(change) || rewritten.has(change)),
    maySkip: (model, change, connection) => about(model, connection, ({ skipped }) => skipped.has(change)),
    mayRewrite: (model, change, connection) => about(model, connection, ({ rewritten }) => rewritten.has(change)),
    skipsSame: (model, connection) => about(model, connection, ({ skipped }) => skipped.has('same')),
    readable: async (model, connection) => about(model, connection, ({ readable }) => readable),
    note: (model) => void known.set(model, { ...(known.get(model) ?? NONE), skipped: new Set(ORDER) }),
  }
}

interface Bound {
  readonly model: ModelSpec
  readonly statements: Statements
  readonly sender: Sender
  readonly skipped: SkippedRows
  readonly connection: Connection
}

/** What became of a record that was to be deleted. */
type Fate = 'deleted' | 'kept' | 'missing'

const KEPT = 'The database did not change the record: a trigger, a rule or a policy prevented it'

/** Finds out what became of a record whose change the database may have skipped, which is known only within a transaction. */
export function skipsOn({ model, statements, sender, skipped, connection }: Bound) {
  const key = recordKey(model)

  /** The digests of records, by the texts of their ids. */
  const digestsOf = async (bounds: Bounds | undefined, ids: readonly (readonly string[])[]) => {
    const columns = await skipped.readable(model, connection)
    const { rows } = await sender.read(follow(statements.digests(bounds, ids, columns)))
    return new Map(rows.map((cells) => [key.text(key.read(cells)), cells[key.fields.length]]))
  }
  /** The digest of one record, whose stored id can have another spelling. */
  const digestOf = async (bounds: Bounds | undefined, id: readonly string[]) =>
    [...(await digestsOf(bounds, [id])).values()][0]

  const maySkip = async (change: Change) => sender.inTransaction && skipped.maySkip(model, change, connection)

  const hasWritten = async () =>
    (await sender.read(follow({ text: 'select pg_current_xact_id_if_assigned()::text', values: [] }))).rows[0]?.[0] !=
    null

  const rejectKept = (): never => {
    throw new Problem('conflict', KEPT)
  }

  return {
    /** Whether an update that finds no row may have found one that already has the values. */
    isSame: async () => skipped.skipsSame(model, connection),
    /** Whether an update has found no row because PostgreSQL's own trigger has skipped it: the record has the values. */
    async wasSame(bounds: Bounds | undefined, id: readonly string[], row: Row): Promise<boolean> {
      if (!(await skipped.skipsSame(model, connection))) return false
      return (await sender.read(follow(statements.holds(bounds, id, row)))).rows.length > 0
    },
    /** The digest of a record before a change that a trigger may skip; undefined if none may, or if the request sees no such record. */
    async digestBefore(change: Change, bounds: Bounds | undefined, id: readonly string[]) {
      return (await maySkip(change)) ? digestOf(bounds, id) : undefined
    },
    /** The same for several records that are to be deleted, in their order; undefined if no trigger may skip one. */
    async digestsBefore(bounds: Bounds | undefined, ids: readonly Id[]) {
      if (!(await maySkip('delete'))) return undefined
      const found = await digestsOf(bounds, ids.map(key.write))
      const digests: unknown[] = []
      for (const id of ids) digests.push(found.get(key.text(id)) ?? (await digestOf(bounds, key.write(id))))
      return digests
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
