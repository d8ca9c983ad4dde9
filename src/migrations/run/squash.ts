import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AppSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import { SPELLING } from '../../db/records/row-digests.js'
import { identifier } from '../../fields/sql-literal.js'
import { inDependencyOrder } from '../../foundation/dependency-order.js'
import { createWhole } from '../../foundation/write-whole.js'
import { tableSql } from '../../fields/table-name.js'
import { MigrationError } from '../files/error.js'
import {
  type Migration,
  type MigrationFolder,
  nameIn,
  numberOf,
  parseMigration,
  readMigrations,
  type Replaced,
  formatReplaced,
} from '../files/files.js'
import { compareJournal, rejectDisagreement } from '../files/journal.js'
import { renderStatement } from '../files/render.js'
import { readCatalog } from '../introspect/catalog/catalog.js'
import { inspectSchema } from '../introspect/catalog/inspect.js'
import { recordTables, whyNotShown } from '../introspect/record.js'
import { isDerivedConstraint, isDerivedIndex } from '../plan/compare/derived.js'
import { compareOnly } from '../plan/generate.js'
import { type Lists, type Ownership, formatLists } from '../plan/compare/ownership.js'
import { has } from '../plan/compare/pair.js'
import { isGuard } from '../plan/steps/conversions.js'
import { createView, readViews } from '../plan/views.js'
import { knownObjects } from '../files/known.js'
import { FROM, inScratch, type Made, onReplayed, ownershipOf, replayWhenUsed, runAll } from './scratch.js'

interface SquashRequest {
  readonly spec: AppSpec
  /** The last file to replace; by default the last of all. */
  readonly through: string | undefined
  /** The name of the new file, without its number. */
  readonly name: string
  /** The database of the project, if it can be reached: it must not have applied only some of the files. */
  readonly database: Database | undefined
  /** An empty database to run the files in. */
  readonly scratch: Database
}

/** The new file and those that it replaces. */
export interface Squashed {
  readonly file: string
  readonly replaced: readonly string[]
  /** Why the statements of the files were kept one by one; undefined if the new file creates the final tables at once. */
  readonly kept: string | undefined
}

/**
 * Replaces the files up to `through` by a single file. The new file is run in an empty database first: it must create the same schema and the
 * same rows, and the next plan must be the same.
 * @throws MigrationError if no single file of SQL does that, or if the database has applied only some of the files; then nothing has changed
 */
export async function squash(folder: MigrationFolder, request: SquashRequest): Promise<Squashed> {
  const { spec, through, name, database, scratch } = request
  if (!/^[a-z0-9_]+$/.test(name))
    throw new MigrationError([
      `${JSON.stringify(name)} is not a valid name for a migration: use lower-case letters, digits and _`,
    ])
  const files = await readMigrations(folder)
  const chosen = chooseFiles(files, through)
  if (database) await rejectPartial(database, files, chosen)
  const rest = files.slice(chosen.length)
  const last = chosen.at(-1)?.name ?? ''
  const target = `${numberOf(last)}_${name}`
  if (files.some((file) => file.name === target))
    throw new MigrationError(
      [`the migration ${target} exists already`],
      ['Choose another name: snippetctl migrate squash --name NAME'],
    )
  const sketch = await readStable(scratch, chosen)
  const owned = await inScratch(scratch, chosen, async (session, recall) => {
    const { made } = await replayWhenUsed(session, recall, chosen)
    return listsOf(made, ownershipOf(chosen, made))
  })
  const heading = chosen.flatMap(replacedBy).map(formatReplaced).join('') + knownOf(chosen)
  const before = await stepsOf(spec, files, scratch)
  const path = join(dirname(chosen[0]?.file ?? ''), `${target}.sql`)
  const proveText = async (statements: string): Promise<Candidate> => {
    const text = `${heading}-- up\n\n${statements}\n${formatLists(owned)}`
    const migration = parseMigration(target, path, Buffer.from(text))
    if ('errors' in migration) return { reason: migration.errors.join('; ') }
    const difference = await differenceOf(scratch, migration, sketch)
    if (difference !== undefined) return { reason: difference }
    const isSame = isDeepStrictEqual(await stepsOf(spec, [migration, ...rest], scratch), before)
    return isSame ? { text } : { reason: 'the next plan would be different' }
  }
  const reasons: string[] = []
  for (const candidate of [await recordedText(scratch, chosen, sketch), keptText(chosen)]) {
    const proved = 'text' in candidate ? await proveText(candidate.text) : candidate
    if ('reason' in proved) {
      reasons.push(proved.reason)
      continue
    }
    await createWhole(path, proved.text)
    for (const { file } of chosen) await rm(file)
    return { file: path, replaced: chosen.map((each) => each.name), kept: reasons[0] }
  }
  throw new MigrationError(
    [`the files cannot be replaced by one: ${[...new Set(reasons)].join('; ')}`],
    ['Squash fewer files: snippetctl migrate squash --through FILE'],
  )
}

function chooseFiles(files: readonly Migration[], through: string | undefined): readonly Migration[] {
  const end = through === undefined ? files.length - 1 : files.findIndex(({ name }) => name === nameIn(through))
  if (through !== undefined && end < 0)
    throw new MigrationError(
      [`there is no migration ${nameIn(through)}`],
      [`There are: ${files.map(({ name }) => name).join(', ')}`],
    )
  if (end < 1) throw new MigrationError(['squashing needs at least two migrations; nothing was changed'])
  return files.slice(0, end + 1)
}

/** A database that has applied only some of the files could not apply the rest after squashing. */
async function rejectPartial(
  database: Database,
  files: readonly Migration[],
  chosen: readonly Migration[],
): Promise<void> {
  const statuses = await compareJournal(database, files)
  rejectDisagreement(statuses)
  const isApplied = ({ name }: Migration) => statuses.find((status) => status.name === name)?.state === 'applied'
  const pending = chosen.filter((file) => !isApplied(file))
  if (pending.length === 0 || pending.length === chosen.length) return
  throw new MigrationError(
    [`this database has applied only some of the files, and not ${pending.map(({ name }) => name).join(', ')}`],
    ['Apply them first, here and in every other database: snippetctl migrate up'],
  )
}

function replacedBy({ name, checksum, replaces }: Migration): readonly Replaced[] {
  return [{ name, checksum, by: undefined }, ...replaces.map((one) => ({ ...one, by: one.by ?? name }))]
}

function knownOf(files: readonly Migration[]): string {
  return [...new Set(knownObjects(files))].map((object) => `-- known: ${object}\n`).join('')
}

/** The constraints, indexes and views that resources.yaml owns, including those with derived names in files that do not list what they own. */
function listsOf({ tables, views, takenOver }: Made, { recorded, unrecorded }: Ownership): Lists {
  const ofTables = tables.flatMap(({ name: table, constraints, indexes }) => {
    const isOurs = (name: string, isDerived: boolean) => recorded.has(name) || (unrecorded.has(name) && isDerived)
    const named = (columns: readonly (string | null)[]) => columns.filter((column) => column !== null)
    return [
      ...constraints.filter((each) => isOurs(each.name, isDerivedConstraint(table, named(each.columns), each))),
      ...indexes.filter((each) => isOurs(each.name, isDerivedIndex(table, each.columns, each))),
    ].map(({ name }) => name)
  })
  return { owns: [...ofTables, ...views.map(({ name }) => name).filter((name) => recorded.has(name))], takenOver }
}

async function stepsOf(spec: AppSpec, files: readonly Migration[], scratch: Database) {
  const { steps, rejections } = await compareOnly(spec, files, scratch)
  return { up: steps.flatMap(({ up }) => up), rejections }
}

type Candidate = { readonly text: string } | { readonly reason: string }

/** Creates the final tables and views at once, and repeats the statements that write rows if a new database has rows. */
async function recordedText(scratch: Database, files: readonly Migration[], { hasRows }: State): Promise<Candidate> {
  const { statements, left, views } = await onReplayed(scratch, files, async (session) => {
    const [inspected, views] = [await inspectSchema(session, { ofService: true }), await readViews(session, FROM)]
    const tables = inspected.tables.filter(({ name }) => !has(views, name))
    return { ...recordTables({ ...inspected, tables }), views }
  })
  // The scratch database may have these itself. If the files make them, their statements are seen below.
  const reason = left.find((each) => !/^(?:extension|publication|event trigger|default grant|grant to) /.test(each))
  if (reason !== undefined) return { reason: whyNotShown(reason) }
  for (const { name, up } of files) {
    const other = up.find(({ text }) => !COMPARED.test(text) && !isGuard(text))
    if (other)
      return { reason: `the final tables do not show the effect of \`${other.text.split('\n', 1)[0]}\` in ${name}` }
  }
  const written = files.flatMap(({ up }) => up.map(({ text }) => text))
  const extensions = written.filter((text) => /^create\s+extension\b/i.test(text))
  const data = hasRows ? written.filter((text) => /^(?:insert|update|delete|merge|with|select)\b/i.test(text)) : []
  const ordered = inDependencyOrder(views, ({ reads }) => views.filter(({ name }) => reads.includes(name)))
  return {
    text:
      [...extensions, ...statements, ...ordered.map(createView)].map(renderStatement).join('\n') +
      data.map((text) => `\n${text};\n`).join(''),
  }
}

/** Statements whose whole effect `differenceOf` can see, in rows or in parts of the schema. Other statements may change roles, for example. */
const COMPARED =
  /^(?:(?:create|alter|drop|comment\s+on)\s+(?:or\s+replace\s+|unique\s+|unlogged\s+|constraint\s+|materialized\s+)*(?:table|column|constraint|trigger|index|type|domain|sequence|view|function|procedure|policy|rule|statistics|extension)|insert|update|delete|merge|truncate|with|select)\b/i

/** Repeats all statements. */
function keptText(files: readonly Migration[]): Candidate {
  const code = files.find(({ load }) => load !== undefined)
  if (code) return { reason: `${code.name} is TypeScript, and its statements cannot be copied into a file of SQL` }
  const parts = files.map(({ name, up }) => `-- ${name}\n\n${up.map(({ text }) => `${text};\n`).join('\n')}`)
  return { text: parts.join('\n') }
}

/** The contents of a new database after running some files. */
interface State {
  readonly hasRows: boolean
  /** Columns with other values each time, such as times: `books.added_at`. */
  readonly varying: ReadonlySet<string>
  readonly values: ReadonlyMap<string, string | null | undefined>
  /** Each kind of part, and its description. */
  readonly parts: Readonly<Record<string, unknown>>
}

const DEFINITIONS = `
  select coalesce(jsonb_agg(w order by w), '[]')::text from (
    select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = $1::text::regnamespace and p.prokind in ('f', 'p')
      and not exists (select from pg_depend e where e.objid = p.oid and e.deptype = 'e')
    union all select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = $1::text::regnamespace and not t.tgisinternal
    union all select concat_ws(' ', polname, polcmd, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
      from pg_policy join pg_class c on c.oid = polrelid where c.relnamespace = $1::text::regnamespace
    union all select concat_ws(' ', typname, format_type(typbasetype, typtypmod), typnotnull, typdefault)
      from pg_type where typnamespace = $1::text::regnamespace and typtype = 'd'
    union all select concat_ws(' ', conname, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace = $1::text::regnamespace and contypid <> 0
    union all select concat_ws(' ', matviewname, definition) from pg_matviews where schemaname = $1::text
    union all select pg_get_statisticsobjdef(oid) from pg_statistic_ext where stxnamespace = $1::text::regnamespace
    union all select jsonb_build_array(c.relkind::text, c.relname, c.relpersistence::text, c.relreplident::text, c.relforcerowsecurity, c.reloptions,
        t.reloptions, c.relacl::text, c.relowner::regrole::text, (select amname from pg_am where oid = c.relam), c.reltablespace, i.indisclustered)::text
      from pg_class c left join pg_class t on t.oid = c.reltoastrelid left join pg_index i on i.indexrelid = c.oid where c.relnamespace = $1::text::regnamespace
    union all select jsonb_build_array(c.relname, a.attname, a.attacl::text, a.attoptions, a.attstorage::text, a.attcompression::text,
        nullif(a.attstattarget, -1))::text
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = $1::text::regnamespace and a.attnum > 0 and not a.attisdropped
    union all select concat_ws(' ', c.relname, t.tgenabled, count(*)) from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = $1::text::regnamespace and t.tgenabled <> 'O' group by c.relname, t.tgenabled
    union all select jsonb_build_array(o.identity, d.description)::text
      from pg_description d cross join pg_identify_object(d.classoid, d.objoid, d.objsubid) o where o.schema = $1::text
  ) a(w)`

/** A query for each sequence. `pg_sequences` does not show a first value. */
const SEQUENCES = `
  select 'select last_value::text, is_called::text from ' || oid::regclass from pg_class
  where relnamespace = $1::text::regnamespace and relkind = 'S' order by 1`

/** Runs the files again if they make rows, to find the columns whose values vary. */
async function readStable(scratch: Database, files: readonly Migration[]): Promise<State> {
  const first = await onReplayed(scratch, files, (session) => readState(session, new Set()))
  if (!first.hasRows) return first
  const { values } = await onReplayed(scratch, files, (session) => readState(session, new Set()))
  const varying = [...values].filter(([name, value]) => value !== first.values.get(name)).map(([name]) => name)
  if (varying.length === 0) return first
  return onReplayed(scratch, files, (session) => readState(session, new Set(varying)))
}

async function readState(session: Connection, varying: State['varying']): Promise<State> {
  await runAll(session, [`set local search_path = ${FROM}`, ...SPELLING])
  const [tables, views] = [await readCatalog(session, FROM), await readViews(session, FROM)]
  const { tables: inspected, ...inspection } = await inspectSchema(session, { ofService: true })
  const { rows } = await session.query({ text: DEFINITIONS, values: [FROM] })
  const [contents, values] = [new Map<string, string>(), new Map<string, string | null | undefined>()]
  const digestOf = async (table: string, cells: string) => {
    const hashes = `select row(${cells})::text as hash from ${tableSql(table)}`
    const text = `select md5(string_agg(hash, '' order by hash)) from (${hashes}) hashes`
    return (await session.query({ text, values: [] })).rows[0]?.[0]
  }
  for (const { name, columns } of tables) {
    const stable = columns.filter((column) => !varying.has(`${name}.${column.name}`))
    const cells = (all: typeof columns) => all.map((column) => `${identifier(column.name)}::text`).join(', ')
    const digest = await digestOf(name, cells(stable))
    if (digest == null) continue
    contents.set(name, digest)
    for (const column of columns) values.set(`${name}.${column.name}`, await digestOf(name, cells([column])))
  }
  const sequences: unknown[] = []
  for (const [text = null] of (await session.query({ text: SEQUENCES, values: [FROM] })).rows)
    sequences.push(text, (await session.query({ text: text ?? '', values: [] })).rows)
  const parts = {
    tables,
    views,
    'column order': inspected.map((table) => ({ ...table, rows: null })),
    'other objects': [inspection, rows[0]?.[0], sequences],
    rows: [...contents],
  }
  return { hasRows: contents.size > 0, varying, values, parts }
}

/** Runs a file in an empty database. Returns the kinds of parts in which the result differs, or the error. */
async function differenceOf(scratch: Database, file: Migration, wanted: State): Promise<string | undefined> {
  try {
    const { parts } = await onReplayed(scratch, [file], (session) => readState(session, wanted.varying))
    const others = Object.keys(parts).filter((kind) => !isDeepStrictEqual(parts[kind], wanted.parts[kind]))
    return others.length === 0 ? undefined : `a single file would create different ${others.join(', ')}`
  } catch (error) {
    if (error instanceof MigrationError) return error.errors.join('; ')
    throw error
  }
}
