import type { Connection } from '../../db/database.js'
import { bareName, formattedTable } from '../../fields/table-name.js'
import { partsOf, type Step } from '../files/steps.js'
import type { Difference } from './compare/diff.js'
import type { FormerNames } from './compare/pair.js'

/** A function whose body is text, in which PostgreSQL does not know the names of tables and columns. */
interface TextFunction {
  readonly name: string
  readonly source: string
  /** The tables with triggers that call it. */
  readonly tables: readonly string[]
}

const FUNCTIONS = `
  select coalesce(jsonb_agg(jsonb_build_object('name', p.proname, 'source', p.prosrc, 'tables', (
    select coalesce(jsonb_agg(distinct ${formattedTable('c', 'm')}), '[]')
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace m on m.oid = c.relnamespace where t.tgfoid = p.oid
  )) order by p.proname), '[]')::text
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and l.lanname not in ('c', 'internal')
    and not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e')`

/**
 * Adds a note for each function that has the former name of a renamed or dropped table or column as a word. For a column, the function must also have the
 * name of the table, or be called by one of its triggers.
 */
export async function noteFunctions<Planned extends Difference & { readonly former: FormerNames }>(
  planned: Planned,
  connection: Connection,
): Promise<Planned> {
  const made = new Set(planned.steps.filter(({ change }) => change === 'add').map(({ subject }) => subject))
  const isMadeAgain = ({ change, subject }: Step) => change === 'drop' && made.has(subject)
  const gone = planned.steps.flatMap((step) => (isMadeAgain(step) ? [] : goneName(step, planned.former)))
  if (gone.length === 0) return planned
  const { rows } = await connection.query({ text: FUNCTIONS, values: [] })
  const functions = JSON.parse(rows[0]?.[0] ?? '[]') as readonly TextFunction[]
  const notes = functions.flatMap(({ name, source, tables }) => {
    const words = new Set(source.match(/[\p{L}_][\p{L}\p{N}_$]*/gu)?.map((word) => word.toLowerCase()))
    const has = (word: string) => words.has(word.toLowerCase()) || source.includes(`"${word}"`)
    return gone
      .filter(({ table, word }) => has(word) && (tables.includes(table) || has(bareName(table))))
      .map(
        ({ word, change }) =>
          `the function ${name} contains the name ${word}, and ${change}: change the function in the same migration, or it may fail when it is called`,
      )
  })
  return { ...planned, notes: [...new Set([...planned.notes, ...notes])] }
}

interface GoneName {
  /** Its former name. */
  readonly table: string
  readonly word: string
  readonly change: string
}

function goneName({ change, subject, renamed }: Step, former: FormerNames): readonly GoneName[] {
  const [now, part] = partsOf(subject)
  const table = former.table(now)
  if (change === 'drop') return [{ table, word: part ?? bareName(table), change: `${subject} is dropped` }]
  if (renamed === undefined) return []
  const before = part === undefined ? renamed : `${table}.${renamed}`
  return [{ table, word: part === undefined ? bareName(renamed) : renamed, change: `${before} becomes ${subject}` }]
}
