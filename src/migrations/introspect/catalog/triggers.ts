/** A trigger that runs before each row is written, and may change it. */
export interface WritingTrigger {
  readonly name: string
  readonly onInsert: boolean
  readonly onUpdate: boolean
  /** Whether it runs for some rows or columns only. */
  readonly conditional: boolean
  readonly language: string
  /** The body of its function. */
  readonly source: string
}

/** The triggers of the table `c`, as JSON. The bits of `tgtype`: 1 for each row, 2 before, 4 on insert, 16 on update. */
export const TRIGGERS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', t.tgname,
    'onInsert', t.tgtype & 4 = 4,
    'onUpdate', t.tgtype & 16 = 16,
    'conditional', t.tgqual is not null or t.tgattr <> '' or t.tgenabled not in ('O', 'A'),
    'language', l.lanname,
    'source', f.prosrc
  ) order by t.tgname), '[]')
  from pg_trigger t join pg_proc f on f.oid = t.tgfoid join pg_language l on l.oid = f.prolang
  where t.tgrelid = c.oid and not t.tgisinternal and t.tgtype & 3 = 3 and t.tgtype & 20 > 0 and t.tgenabled <> 'D'`
