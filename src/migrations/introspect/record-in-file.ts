import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { type Migration, type MigrationFolder, parseMigration, readMigrations } from '../files/files.js'
import { renderStatement } from '../files/render.js'
import type { Comparison } from '../plan/compare/compare.js'
import { formatLists, type Lists } from '../plan/compare/ownership.js'
import { find, isSame, type Named } from '../plan/compare/pair.js'
import { compareOnly } from '../plan/generate.js'
import { wantedTables } from '../plan/sql.js'
import type { CatalogConstraint } from './catalog/catalog.js'
import type { Recorded } from './record.js'
import { MIGRATION_NAME, remainingPlan } from './remaining-plan.js'

interface Project {
  /** The configuration with the models of the tables. */
  readonly spec: AppSpec
  /** The tables that the existing migrations create. */
  readonly known: readonly string[]
  readonly directory: MigrationFolder
  readonly scratch: Database
}

/** The text of the migration that records tables, and the changes that the next plan would make. */
interface RecordedFile {
  /** Undefined if there is nothing to record. */
  readonly migration: string | undefined
  readonly remaining: readonly string[]
}

/**
 * Renders the migration that records tables. From then on, resources.yaml owns the constraints and indexes with generated names, and each check that states
 * exactly the rules of a field, whatever its name.
 */
export async function recordInFile(recorded: Recorded, project: Project): Promise<RecordedFile> {
  const { spec, directory, scratch } = project
  if (recorded.statements.length === 0)
    return { migration: undefined, remaining: await remainingPlan(spec, { ...project, migration: undefined }) }
  const generated = wantedTables(spec).flatMap(({ constraints, indexes }) =>
    [...constraints, ...indexes].map(({ name }) => name),
  )
  const files = await readMigrations(directory)
  const named = parsed(render(recorded, { owns: generated, takenOver: [] }))
  const comparison = await compareOnly(spec, [...files, named], scratch)
  const { others, ...lists } = listsOf(comparison, project.known, new Set(generated))
  const migration = render(recorded, lists)
  const isSettled = others.length + comparison.steps.length + comparison.rejections.length === 0
  return { migration, remaining: isSettled ? [] : await remainingPlan(spec, { ...project, migration }) }
}

function parsed(text: string): Migration {
  const migration = parseMigration(MIGRATION_NAME, 'the migration', Buffer.from(text))
  if ('errors' in migration) throw new MigrationError(migration.errors)
  return migration
}

const HEADER =
  '-- Creates the tables that `introspect --manage` found. This file has no down part, so `migrate down` never drops them.'

function render({ statements, known }: Recorded, lists: Lists): string {
  const named = known.filter((object) => !/[\r\n]/.test(object)).map((object) => `-- known: ${object}\n`)
  return `${HEADER}\n${named.join('')}-- up\n\n${statements.map(renderStatement).join('\n')}\n${formatLists(lists)}`
}

interface FoundLists extends Lists {
  readonly owns: readonly string[]
  /** Checks that have the name of a generated check, but do not state its rule. */
  readonly others: readonly string[]
}

function listsOf({ existing, to }: Comparison, known: readonly string[], generated: ReadonlySet<string>): FoundLists {
  const lists = existing.tables
    .filter(({ name }) => !known.includes(name))
    .map((table) => {
      const standing = find(to, table.name)?.constraints ?? []
      const states = (each: CatalogConstraint) => isSame(each, find(standing, each.name))
      const checks = table.constraints.filter(({ kind }) => kind === 'check')
      const keys = table.constraints.filter(({ kind }) => kind !== 'check')
      const isNamed = ({ name }: Named) => generated.has(name)
      return {
        owns: [...keys, ...checks.filter(states), ...table.indexes].filter(isNamed).map(({ name }) => name),
        others: checks.filter((each) => isNamed(each) && !states(each)).map(({ name }) => name),
        takenOver: checks
          .filter((each) => states(each) && !isNamed(each) && !/[\r\n]/.test(table.name + each.name))
          .map(({ name }) => ({ table: table.name, name })),
      }
    })
  return {
    owns: lists.flatMap(({ owns }) => owns),
    others: lists.flatMap(({ others }) => others),
    takenOver: lists.flatMap(({ takenOver }) => takenOver),
  }
}
