import { isOwnTable, type ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import { Problem } from '../../foundation/problem.js'
import type { Precondition, Row } from '../../resource/plan.js'
import type { Connection } from '../database.js'
import { enforcesKey } from '../statements/enforced-key.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { Statements } from '../statements/statements.js'
import type { rejectionsOn } from './rejected-changes.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

/** A change of a record. */
export type Change = 'insert' | 'update' | 'delete'

/**
 * Knows how triggers, rules and constraints of a table may affect each kind of change. It asks the database once for each model, and inside a
 * transaction on the connection of the transaction.
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
  /** The columns by which a new or changed record may collide with another; undefined for any. */
  uniqueColumns(model: ModelSpec, connection: Connection): Promise<readonly string[] | undefined>
  /** Whether constraints keep two records from having the same key. */
  keepsKeysUnique(model: ModelSpec, connection: Connection): boolean | Promise<boolean>
  /** The columns that a check constraint names; undefined if it is not known. */
  checkedColumns(model: ModelSpec, constraint: string): readonly string[] | undefined
  /** Notes that the database has not returned a new record of a model. */
  note(model: ModelSpec): void
  /** Notes that the database has rejected a row of a model for an unknown reason, so that each change of the model may be rejected. */
  doubt(model: ModelSpec): void
}

/**
 * Whether a trigger or a rule of a table may skip a row, by kind of change: all may but triggers that only return the row, and set no more than its
 * columns. Those of a view may be those of any table. A function in another language than PL/pgSQL may do anything. The last row is about PostgreSQL's
 * own trigger that skips updates without a change.
 *
 * A record may collide with another in a BEFORE trigger that has a statement of SQL or raises errors. Grants have been checked before an AFTER trigger
 * runs.
 *
 * An AFTER trigger may change the row again if its function has a word for an update or for other code, or the name of a function or of a table that
 * may run more code. Comments and texts count, because they are hard to tell apart; only the names of the operations are common there. A rule may
 * change the row as well, and for a view the trigger in place of the change. Deferred triggers run too late to be seen.
 */
function triggersOf(model: ModelSpec): string {
  return `
  with recursive tables as (
    select to_regclass($1)::oid as id
    union select inhrelid from pg_inherits join tables on inhparent = id
  ), words as (
    select p.oid as function, l.lanname = 'plpgsql' as known, p.prosrc as code, regexp_replace(
      ' ' || regexp_replace(lower(p.prosrc), '''(insert|update|delete|truncate)''', '', 'g') || ' ', '\\W+', ' ', 'g') as words
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.prorettype = 'trigger'::regtype and p.pronamespace <> 'pg_catalog'::regnamespace
  ), active as materialized (
    select coalesce(nullif(regexp_replace(' ' || lower(name) || ' ', '\\W+', ' ', 'g'), ' '), name) as word from (
      select proname as name, pronamespace as schema from pg_proc
        where provolatile = 'v' and prorettype <> 'trigger'::regtype
      union select relname, relnamespace from pg_class
        where relkind in ('v', 'p', 'f') or relhasrules or relhassubclass
          or exists (select from pg_trigger where tgrelid = pg_class.oid and not tgisinternal)) as named
    where schema not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  ), triggers as (
    select t.tgtype as type, t.tginitdeferred as deferred, words.* from pg_trigger t join words on function = t.tgfoid
    where not t.tgisinternal and t.tgenabled in ('O', 'A')
      and ((select relkind from pg_class where oid = to_regclass($1)) = 'v' or t.tgrelid in (select id from tables))
  )
  select (c.relkind = 'v' and k.n = 1
    or exists (
      select from pg_rewrite r where (ev_class = c.oid or c.relkind = 'v' and r.oid >= 16384)
        and is_instead and ev_type = k.rule::"char" and ev_enabled in ('O', 'A'))
    or exists (
      select from triggers where type & 1 > 0 and type & (2 | 64) > 0 and type & k.event > 0 and (not known or code ~* k.skips))
    or k.n = 4 and exists (
      select from pg_trigger t where t.tgfoid = 'suppress_redundant_updates_trigger'::regproc and t.tgenabled in ('O', 'A')
        and t.tgrelid in (select id from tables)))::text,
  (exists (
      select from pg_rewrite r where (ev_class = c.oid or c.relkind = 'v' and r.oid >= 16384)
        and ev_type = k.rule::"char" and ev_enabled in ('O', 'A') and k.event & (4 | 16) > 0)
    or exists (
      select from triggers where not deferred and type & 2 = 0 and type & k.event & (4 | 16) > 0
        and (type & 64 > 0 or not known or words ~ ' (update|merge|execute|perform|call) '
          or exists (select from active where strpos(words || code, word) > 0))))::text,
  (select json_agg(a.attname order by a.attnum) from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and not has_table_privilege(c.oid, 'SELECT')
      and has_column_privilege(c.oid, a.attnum, 'SELECT'))::text,
  (${model.key.length > 0 ? enforcesKey(model) : 'false'})::text,
  (select case when c.relkind = 'r' and count(*) filter (where is_open) = 0
      and not exists (
        select from triggers where type & 2 > 0
          and (not known or words ~ ' (raise|assert|select|perform|execute|call|insert|update|delete|merge) '))
      and not exists (select from pg_rewrite where ev_class in (select id from tables))
      then coalesce(json_agg(distinct attname) filter (where attname is not null), '[]') end
    from (
      select a.attname, indexprs is not null or indpred is not null or a.attgenerated <> '' as is_open
      from pg_index join tables on indrelid = id
      left join pg_attribute a on a.attrelid = id and a.attnum = any (indkey)
      where indisunique or indisexclusion) as kept)::text,
  (select json_object_agg(k.conname, (select json_agg(a.attname order by a.attnum) from pg_attribute a
      where a.attrelid = c.oid and a.attnum = any (k.conkey)))
    from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.conkey is not null)::text
  from pg_class c, (values
    (1, '3', 4, '\\mreturn\\M(?!\\s+new\\s*;)|\\mnew\\s*:?='),
    (2, '2', 16, '\\mreturn\\M(?!\\s+(?:new|old)\\s*;)|\\m(?:new|old)\\s*:?='),
    (3, '4', 8, '\\mreturn\\M(?!\\s+old\\s*;)|\\mold\\s*:?='),
    (4, null, 0, null)) as k (n, rule, event, skips)
  where c.oid = to_regclass($1) order by n`
}

const ORDER = ['insert', 'update', 'delete', 'same'] as const

/** What triggers may do. */
interface Effects {
  readonly skipped: ReadonlySet<(typeof ORDER)[number]>
  readonly rewritten: ReadonlySet<(typeof ORDER)[number]>
  readonly readable: readonly string[] | undefined
  readonly isKeyed: boolean
  readonly unique: readonly string[] | undefined
  /** The columns of the check constraints, by name. */
  readonly checks: ReadonlyMap<string, readonly string[] | null>
}

const NONE: Effects = {
  skipped: new Set(),
  rewritten: new Set(),
  readable: undefined,
  isKeyed: false,
  unique: undefined,
  checks: new Map(),
}

export function watchSkippedRows(outside: Connection): SkippedRows {
  const known = new Map<ModelSpec, Effects>()
  const ask = async (model: ModelSpec, connection: Connection): Promise<Effects> => {
    const { rows } = await connection.query({ text: triggersOf(model), values: [tableSql(model.table)], retry: true })
    const kinds = (column: number) => new Set(ORDER.filter((_, place) => rows[place]?.[column] === 'true'))
    const names = (column: number) => {
      const text = rows[0]?.[column]
      return text == null ? undefined : (JSON.parse(text) as readonly string[])
    }
    const effects = known.get(model) ?? {
      skipped: kinds(0),
      rewritten: kinds(1),
      readable: names(2),
      isKeyed: rows[0]?.[3] === 'true',
      unique: names(4),
      checks: new Map(Object.entries(JSON.parse(rows[0]?.[5] ?? '{}') as Record<string, readonly string[] | null>)),
    }
    known.set(model, effects)
    return effects
  }
  const about = <Answer>(model: ModelSpec, connection: Connection, answer: (effects: Effects) => Answer) => {
    const effects = known.get(model)
    return effects ? answer(effects) : ask(model, connection).then(answer)
  }
  const learn = (model: ModelSpec, effects: Partial<Effects>) =>
    void known.set(model, { ...(known.get(model) ?? NONE), ...effects })
  return {
    needsTransaction: (model, change) =>
      about(model, outside, ({ skipped, rewritten }) => skipped.has(change) || rewritten.has(change)),
    maySkip: (model, change, connection) => about(model, connection, ({ skipped }) => skipped.has(change)),
    mayRewrite: (model, change, connection) => about(model, connection, ({ rewritten }) => rewritten.has(change)),
    skipsSame: (model, connection) => about(model, connection, ({ skipped }) => skipped.has('same')),
    readable: async (model, connection) => about(model, connection, ({ readable }) => readable),
    uniqueColumns: async (model, connection) => about(model, connection, ({ unique }) => unique),
    keepsKeysUnique: (model, connection) => about(model, connection, ({ isKeyed }) => isKeyed),
    checkedColumns: (model, constraint) => known.get(model)?.checks.get(constraint) ?? undefined,
    note: (model) => learn(model, { skipped: new Set(ORDER), unique: undefined }),
    doubt: (model) => learn(model, { unique: undefined }),
  }
}

interface Bound {
  readonly model: ModelSpec
  readonly statements: Statements
  readonly sender: Sender
  readonly skipped: SkippedRows
  readonly connection: Connection
}

const KEPT = 'The database did not delete the record: a trigger, a rule or a policy prevented it'

/** Whether the error is that the database has kept a record. The transaction can go on. */
export function isKept(error: unknown): boolean {
  return error instanceof Problem && error.message === KEPT
}
const UNRETURNED = 'The database did not return the changed record: a trigger, a rule or a policy prevented it'

/** Finds out what became of a record whose change the database may have skipped, which is known only within a transaction. */
export function skipsOn(
  { model, statements, sender, skipped, connection }: Bound,
  { rejectIfThere }: Pick<ReturnType<typeof rejectionsOn>, 'rejectIfThere'>,
) {
  /** The digest of a record; undefined if the request sees no such record. */
  const digestOf = async (bounds: Bounds | undefined, id: readonly string[]) => {
    const columns = await skipped.readable(model, connection)
    const { rows } = await sender.read(follow(statements.digest(bounds, id, columns)))
    return rows[0]?.[0]
  }
  const hasWritten = async () =>
    (await sender.read(follow({ text: 'select pg_current_xact_id_if_assigned()::text', values: [] }))).rows[0]?.[0] !=
    null

  /** Whether a trigger or a rule may skip a change, which is found out only in a transaction. */
  const maySkip = async (change: Change) => sender.inTransaction && skipped.maySkip(model, change, connection)

  const rejectKept = (change: 'update' | 'delete'): never => {
    throw new Problem('conflict', change === 'delete' ? KEPT : UNRETURNED)
  }

  return {
    maySkip,
    /** Whether two records may have the same key, as in views and in tables of other programs. */
    mayRepeatKeys: async () => !isOwnTable(model) && !(await skipped.keepsKeysUnique(model, connection)),
    /** The digest of a record before a change that a trigger may skip; undefined if none may, or if the request sees no such record. */
    async digestBefore(change: Change, bounds: Bounds | undefined, id: readonly string[]) {
      return (await maySkip(change)) ? digestOf(bounds, id) : undefined
    },
    rejectKept,
    /**
     * Whether a record that a deletion did not return is gone nevertheless: a trigger has deleted it in a way of its own, by changing the row or by
     * hiding it from the request.
     * @param before the digest before the deletion
     * @throws Problem if the request sees the record
     */
    async isGone(
      bounds: Bounds | undefined,
      id: readonly string[],
      before: unknown,
      only?: readonly Precondition[],
    ): Promise<boolean> {
      const after = before === undefined ? undefined : await digestOf(bounds, id)
      // If this transaction has written nothing, another one has changed the row.
      if (after !== before && (await hasWritten())) return true
      await rejectIfThere(bounds, id, undefined, only)
      return after !== undefined && rejectKept('delete')
    },
    /** Whether a record has the values of a row. */
    async holds(bounds: Bounds | undefined, id: readonly string[], row: Row): Promise<boolean> {
      return (await sender.read(follow(statements.holds(bounds, id, row)))).rows.length > 0
    },
  }
}
