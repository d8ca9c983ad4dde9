import type { Database } from '../db/database.js'
import { identifier } from '../fields/sql-literal.js'
import type { CatalogColumn, CatalogTable } from './catalog.js'
import { changeDefault, changeNullable, changeType, remake } from './column-steps.js'
import { type Drifted, findDrift, readBoth } from './drift.js'
import { MigrationError } from './error.js'
import { type MigrationFolder, readMigrations } from './files.js'
import { writeNext } from './generate.js'
import { compareJournal, refuseDisagreement } from './journal.js'
import { find } from './pair.js'
import { recordMigration } from './run.js'
import { addConstraint } from './sql.js'

/** What was taken over into the files. */
export interface Adopted {
  /** The path of the migration. */
  readonly file: string
  /** The column, when it is one that no field stands for. */
  readonly column: (CatalogColumn & { readonly table: string }) | undefined
}

/** What is to be taken over. */
interface Wish {
  /** `books.tmp`: a column, constraint or index with its table. */
  readonly object: string
  /** An empty database to run the files in; left out, one of its own. */
  readonly scratch?: Database
}

/** The two parts of a file. */
interface Parts {
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/**
 * Takes something over that exists only in the database: writes the migration that makes it, and records that as applied here.
 * Nothing in the database changes but the journal.
 * @throws MigrationError when it is no drift, or when migrations are pending
 */
export async function adoptDrift(
  database: Database,
  directory: MigrationFolder,
  { object, scratch }: Wish,
): Promise<Adopted> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  refuseDisagreement(statuses)
  const pending = statuses.filter(({ state }) => state === 'pending').map(({ name }) => name)
  if (pending.length > 0)
    throw new MigrationError([`${pending.join(', ')} must be applied first`], ['Apply them: snippetctl migrate up'])
  const sides = await readBoth(database, files, scratch)
  const drift = findDrift(sides).find((each) => each.object === object)
  if (!drift || !('adopt' in drift.repair))
    throw new MigrationError([`${object} is nothing that only the database has`], helpFor(sides))
  const parts = partsOf(sides, object)
  const column = newColumn(sides, object)
  const name = `adopt_${object.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '_')}`
  const part = (statements: readonly string[]) => statements.map((statement) => `${statement};\n`).join('\n')
  const file = await writeNext(directory, name, `-- up\n\n${part(parts.up)}\n-- down\n\n${part(parts.down)}`)
  await recordMigration(database, directory, `${String(files.length + 1).padStart(4, '0')}_${name}`)
  return { file, column }
}

function helpFor(sides: Drifted): readonly string[] {
  const names = findDrift(sides).flatMap(({ repair }) => ('adopt' in repair ? [repair.adopt] : []))
  return [names.length > 0 ? `There is: ${names.join(', ')}` : 'There is nothing to adopt']
}

const tablesOf = ({ files, live }: Drifted, object: string): readonly [CatalogTable, CatalogTable, string] => {
  const table = object.slice(0, object.indexOf('.'))
  const [made, there] = [find(files, table), find(live, table)]
  if (!made || !there) throw new Error(`a drift without its table: ${object}`)
  return [made, there, object.slice(table.length + 1)]
}

function newColumn(sides: Drifted, object: string): Adopted['column'] {
  const [made, there, name] = tablesOf(sides, object)
  const column = find(there.columns, name)
  return column && !find(made.columns, name) ? { ...column, table: made.name } : undefined
}

function partsOf(sides: Drifted, object: string): Parts {
  const [made, there, name] = tablesOf(sides, object)
  const table = identifier(made.name)
  const [old, now] = [find(made.columns, name), find(there.columns, name)]
  if (old && now) return changeOf(made.name, old, now)
  // Where somebody made it by hand as well, it is there already.
  if (now) {
    const { before, definition, after } = remake(made.name, now, now.nullable)
    return {
      up: [...before, `alter table ${table} add column if not exists ${identifier(name)} ${definition}`, ...after],
      down: [`alter table ${table} drop column ${identifier(name)}`],
    }
  }
  const constraints = [made, there].map((side) => find(side.constraints, name))
  if (constraints[1]) {
    const [was, is = ''] = constraints.map((each) => each && addConstraint(made.name, each))
    return remade(`alter table ${table} drop constraint ${identifier(name)}`, was, is)
  }
  const [was, is = ''] = [made, there].map((side) => find(side.indexes, name)?.definition)
  return remade(`drop index ${identifier(name)}`, was, is)
}

/** What is made, after what stood under its name is dropped. */
function remade(drop: string, old: string | undefined, now: string): Parts {
  return old === undefined ? { up: [now], down: [drop] } : { up: [drop, now], down: [drop, old] }
}

function changeOf(table: string, old: CatalogColumn, now: CatalogColumn): Parts {
  const relation = identifier(table)
  const retyped = old.type !== now.type || old.collation !== now.collation
  const steps = [
    ...(retyped ? [changeType(table, old, now, { relation, indexed: false })] : []),
    ...(retyped || old.default === now.default ? [] : [changeDefault(table, old, now)]),
    ...(old.nullable === now.nullable ? [] : [changeNullable(table, old, now, relation)]),
  ]
  return { up: steps.flatMap(({ up }) => up), down: steps.toReversed().flatMap(({ down }) => down) }
}
