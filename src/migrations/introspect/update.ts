import { isReading, type Operation } from '../../config/core-spec.js'
import { isWritable } from '../../config/model-spec.js'
import type { AppSpec, FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import { CURRENT_SCHEMA, readTableName } from '../../fields/table-name.js'
import { unmanagedTableDifferences } from '../drift/unmanaged-tables.js'
import { readLacks } from '../drift/verify.js'
import { find } from '../plan/compare/pair.js'
import type { Catalog } from './catalog/catalog.js'
import { chooseModelsWithRelations } from './choose/choose-joined.js'
import type { FieldSpelling } from './choose/field-names.js'
import type { SchemaInspection } from './catalog/inspect.js'
import { hasDialect, isInDialect, specOfText, modelsByTable, tryText } from './spec-of-text.js'
import { lostDefaults, unusedDefaults } from './update-defaults.js'
import {
  changedFields,
  changedUniques,
  type Edit,
  goneFields,
  newFields,
  narrowerColumns,
  otherValues,
  withColumns,
} from './update-fields.js'
import { changedActions, changedIndexes, newKeys, newRelations } from './update-parts.js'

interface Current {
  readonly file: string
  readonly text: string
  readonly spec: AppSpec
  readonly inspected: SchemaInspection
  readonly catalog: Catalog
  readonly tables?: readonly string[] | undefined
  readonly spelling: FieldSpelling
}

/** The schemas of the tables of a configuration; undefined if all tables are in the current schema. */
export async function schemasOfModels(
  database: Pick<Connection, 'query'>,
  { models }: AppSpec,
): Promise<readonly string[] | undefined> {
  const named = models.map(({ table }) => readTableName(table)?.schema)
  if (named.every((schema) => schema === undefined)) return undefined
  const { rows } = await database.query({ text: `select ${CURRENT_SCHEMA}`, values: [] })
  return [...new Set(named.map((schema) => schema ?? rows[0]?.[0] ?? ''))]
}

/** A configuration whose models follow unmanaged tables. */
interface Updated {
  readonly text: string
  /** The changes to the text, one sentence each. */
  readonly changes: readonly string[]
  /** Parts of the tables that the text does not use, one sentence each. */
  readonly left: readonly string[]
  /** Differences that the text still has, one sentence each. */
  readonly remaining: readonly string[]
  /** Whether a model without a failed edit still differs. A failed edit says what to change. */
  readonly hasUnexplained: boolean
}

/**
 * Makes the models of unmanaged tables follow the database: new columns, indexes and foreign keys are declared, fields and indexes that are gone become
 * comments, and settings that do not fit their column are replaced. A change that would break the configuration is not made, and is reported.
 */
export async function updateModels(database: Database, current: Current): Promise<Updated> {
  const changes: string[] = []
  let now = current
  let reasons: Pass['reasons'] = []
  let left: readonly string[] = []
  // A relation may no longer fit once the key that it refers to has followed its column.
  for (let passes = 0; passes < MAX_PASSES; passes += 1) {
    const found = await editsFor(database, now)
    const pass = makeEdits(now, found.edits)
    reasons = pass.reasons
    left = found.left
    if (pass.changes.length === 0) break
    changes.push(...pass.changes)
    now = { ...now, text: pass.text, spec: specOfText(pass.text, now.file) }
  }
  const differences = await unmanagedTableDifferences(selected(now.spec, now.tables), database)
  const blocked = new Set(reasons.map(({ model }) => model))
  const messages = (isOfDatabase: boolean) =>
    differences.filter((each) => (each.isOfDatabase ?? false) === isOfDatabase).map(({ message }) => message)
  return {
    text: now.text,
    changes,
    left: [...left, ...messages(true)],
    remaining: [...reasons.map(({ reason }) => reason), ...messages(false)],
    hasUnexplained: differences.some(({ isOfDatabase, path }) => !isOfDatabase && !blocked.has(String(path[1]))),
  }
}

/** Enough for a key that refers to a key, which refers to another key. */
const MAX_PASSES = 4

interface Pass {
  readonly text: string
  readonly changes: readonly string[]
  /** Why the other edits were not made. */
  readonly reasons: readonly { readonly model: string; readonly reason: string }[]
}

function makeEdits(current: Pick<Current, 'text' | 'file'>, edits: readonly Edit[]): Pass {
  const changes: string[] = []
  let { text } = current
  let open = edits
  let reasons: Pass['reasons'] = []
  // A change may depend on another one: a relation needs the unique field that it refers to.
  for (let before = -1; changes.length > before; ) {
    before = changes.length
    const failed: { readonly edit: Edit; readonly reason: string }[] = []
    for (const edit of open) {
      // A setting that the column does not have, such as `auto`, stays, and is reported as a difference.
      if (edit.apply(text) === text) continue
      const done = attempt(text, current.file, edit)
      if ('reason' in done) failed.push({ edit, reason: `not written: ${edit.what}, ${done.reason}` })
      else {
        text = done.text
        changes.push(done.what)
      }
    }
    open = failed.map(({ edit }) => edit)
    reasons = failed.map(({ edit, reason }) => ({ model: edit.model, reason }))
  }
  return { text, changes, reasons }
}

/** Makes a change, or its substitute, if the configuration stays valid. */
function attempt(
  text: string,
  file: string,
  { what, apply, otherwise }: Edit,
): { readonly text: string; readonly what: string } | { readonly reason: string } {
  const written = apply(text)
  if (written !== undefined) {
    const result = tryText(written, file)
    if ('models' in result) return { text: written, what }
    if (!otherwise) return { reason: reasonOf(result, { text, written, file }) }
  }
  return otherwise ? attempt(text, file, otherwise) : { reason: 'because the file has no room for it' }
}

/**
 * Explains why an edit is not made. Quotes the lines that prevent it, because the other edits change line numbers.
 * @param errors the errors of the `written` text, each with its file and line in front
 */
function reasonOf(errors: readonly string[], { text, written, file }: Record<'text' | 'written' | 'file', string>) {
  const [before, after] = [text, written].map((each) => each.split('\n'))
  const places = errors.map((error) => /^:(\d+): (.*)$/s.exec(error.slice(file.length)) ?? [])
  const lines = new Set(places.map(([, line]) => after?.[Number(line) - 1] ?? ''))
  const [[, , message = ''] = []] = places
  if (![...lines].every((line) => before?.includes(line))) return `because ${message}`
  const shown = [...lines].map((line) => `\`${line.trim()}\``).join(', ')
  const these = lines.size > 1 ? 'these lines' : 'this line'
  return `because of ${shown}: ${message}; change ${these} by hand, and run the command again`
}

/** The configuration without the models of other tables. */
function selected(spec: AppSpec, tables: readonly string[] | undefined): AppSpec {
  return tables ? { ...spec, models: spec.models.filter(({ table }) => tables.includes(table)) } : spec
}

async function editsFor(
  database: Database,
  { file, text, spec, inspected, catalog, tables, spelling }: Current,
): Promise<{ readonly edits: readonly Edit[]; readonly left: readonly string[] }> {
  const { models } = selected(spec, tables)
  const followed = models.filter(({ managed }) => !managed)
  const { lacks } = await readLacks({ ...spec, models: followed }, database)
  const fresh = chooseModelsWithRelations(inspected, catalog, {
    existing: modelsByTable(spec),
    only: followed.map(({ table }) => table),
    managed: false,
    spelling,
    inDialect: (table) => isInDialect(spec, table) ?? hasDialect(text, file),
    again: new Map(followed.map((model) => [model.table, namesByColumn(model)])),
  })
  const pairs = followed.flatMap((model) => {
    const now = fresh.models.find(({ table }) => table === model.table)
    const there = inspected.tables.find(({ name }) => name === model.table)
    const live = find(catalog, model.table)
    return now && there && live ? [{ model, now, there, live }] : []
  })
  const edits = [
    ...pairs.flatMap(({ model, now }) => (now.isView ? [] : changedUniques(model, now.fields))),
    ...pairs.flatMap(({ model, now }) => {
      const differing = lacks.flatMap(({ table, column }) => (column && table === model.table ? [column] : []))
      return changedFields(model, now.fields, differing)
    }),
    ...pairs.flatMap(lostDefaults),
    ...pairs.flatMap(({ model, now, live }) => newFields(model, now.fields, live)),
    ...pairs.flatMap(changedIndexes),
    ...pairs.flatMap(changedActions),
    ...pairs.flatMap(newRelations),
    ...pairs.flatMap(({ model, there }) => goneFields(model, there)),
  ]
  const written = new Set(
    spec.resources.flatMap(({ model, operations }) => (operations.some(isWriting) ? [model.name] : [])),
  )
  const left = [
    ...pairs.flatMap(newKeys),
    ...pairs.flatMap(unusedDefaults),
    ...pairs.flatMap(({ model, now }) => {
      const isWritten = (field: FieldSpec) => written.has(model.name) && isWritable(field)
      return [...otherValues(model, now.fields, isWritten), ...narrowerColumns(model, now.fields, isWritten)]
    }),
  ]
  return { edits: edits.map((edit) => edit(file, text)), left }
}

/** Whether requests for an operation have values of fields. */
function isWriting(operation: Operation): boolean {
  return !isReading(operation) && operation !== 'destroy'
}

function namesByColumn(model: ModelSpec): ReadonlyMap<string, string> {
  return new Map(withColumns(model).map(({ column, name }) => [column, name]))
}
