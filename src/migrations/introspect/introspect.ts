import { rmSync } from 'node:fs'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import { readTables } from './catalog/catalog.js'
import type { ChosenModel } from './choose/choose.js'
import type { FieldSpelling } from './choose/field-names.js'
import { chooseModelsWithRelations } from './choose/choose-joined.js'
import { MigrationError } from '../files/error.js'
import { digitsOf, type MigrationFolder, nextNumber, readMigrations } from '../files/files.js'
import { writeNext } from '../files/write-next.js'
import { rejectUnlessAllApplied } from '../files/journal.js'
import { recordTables } from './record.js'
import { recordInFile } from './record-in-file.js'
import { rejectAbsent, rejectAbsentSchemas, rejectQualified } from './reject-absent.js'
import { MIGRATION_NAME } from './remaining-plan.js'
import { recordMigration } from '../run/run.js'
import { onReplayed } from '../run/scratch.js'
import { type SchemaInspection, inspectSchema } from './catalog/inspect.js'
import { declaredModels, hasDialect, isManagedText, specOfText, specOfWritten, modelsByTable } from './spec-of-text.js'
import { schemasOfModels, updateModels } from './update.js'
import { writeText } from './write-text.js'

/** The options of an introspection. */
export interface IntrospectOptions {
  /** The path of resources.yaml. */
  readonly file: string
  /** Its text, to which models are added; if left out, a new file is written. */
  readonly text?: string | undefined
  /** The folder of the migrations. */
  readonly directory: MigrationFolder
  /** The schemas to introspect, by default the current one; for an update, those of the models. */
  readonly schemas?: readonly string[] | undefined
  /** The tables to introspect, by default all. */
  readonly tables?: readonly string[] | undefined
  /** Whether to add a resource for each model, and whether it only reads; by default all operations that the table supports. */
  readonly resources?: 'all' | 'read_only' | 'none' | undefined
  /** How fields are named by their columns, by default in lower snake case. */
  readonly spelling?: FieldSpelling | undefined
  /**
   * Whether migrations of this project create the tables from now on; the first one records them as they are. By default true if the text says so, or
   * if there are migrations.
   */
  readonly manage?: boolean | undefined
  /** Whether existing models follow the unmanaged tables. */
  readonly update?: boolean | undefined
  /** An empty database to test the result in; by default a new one, if migrations are to make the tables. */
  readonly scratch?: Database
  /** Is called at the start of each of the `INTROSPECT_STAGES`. */
  readonly onStage?: (stage: string) => void
  /** Opens the new one, by default embedded. */
  readonly openScratch?: () => Promise<Database>
}

/** The number of stages of an introspection. */
export const INTROSPECT_STAGES = 3

/** The result of an introspection, before anything is written. */
export interface Introspected {
  /** The whole text of resources.yaml. */
  readonly text: string
  /** The new models. */
  readonly models: readonly ChosenModel[]
  /** Changes to existing models, one sentence each. */
  readonly changes: readonly string[]
  /** The text of the next migration, which creates the tables that no file creates; undefined if there are none. */
  readonly migration: string | undefined
  /** Parts of the database that the files do not describe, one sentence each. */
  readonly left: readonly string[]
  /** Whether some of the tables have no model. */
  readonly isPartial: boolean
  /** Changes that the next plan would still make; any of them is a bug of this program. With `update`, differences that remain. */
  readonly remaining: readonly string[]
  /** With `update`: whether `remaining` has differences that name no remedy. */
  readonly hasUnexplained: boolean
}

/**
 * Derives models from the current schema of a database, and a first migration if migrations are to make the tables from now on. The result is
 * then tested in an empty database: the migration runs there, and the plan for the models is empty.
 * @throws MigrationError if migrations are pending, a requested table does not exist, the file cannot be extended, or the result fails the test
 */
export async function introspect(database: Database, options: IntrospectOptions): Promise<Introspected> {
  const { directory, text, file, schemas, onStage } = options
  const hasFiles = (await readMigrations(directory)).length > 0
  const spec = text === undefined ? undefined : specOfText(text, file)
  const isUnmanaged = text !== undefined && !isManagedText(text, file)
  const isManagedFile = !isUnmanaged && (hasFiles || declaredModels(spec).some(({ managed }) => managed))
  if (options.manage && isUnmanaged)
    throw new MigrationError(
      [`${file} has \`database: { managed: false }\`, and with --manage, migrations change the tables`],
      [
        'Write `managed: true` there, and run the command again: it lists how the models differ from the tables',
        'Or leave out --manage, to add models of tables that another program changes',
      ],
    )
  if (options.update && isManagedFile)
    throw new MigrationError(
      ['migrations of this project create the tables, and --update is for unmanaged tables'],
      ['See what differs: snippetctl check --database'],
    )
  if (!(options.manage ?? isManagedFile)) return describeTables(database, options, spec)
  if (schemas !== undefined)
    throw new MigrationError(
      ['--schema is for tables that migrations do not create: they create tables in the schema of the connection'],
      ['Leave out --schema, or introspect other schemas in a folder of their own, without --manage'],
    )
  onStage?.('reading the tables')
  const scratch = options.scratch ?? (await (options.openScratch ?? openScratch)())
  try {
    return await takeOver(database, options, {
      inspected: await inspectSchema(database, { schemas, other: scratch }),
      spec,
      scratch,
    })
  } finally {
    if (!options.scratch) await scratch.close()
  }
}

interface SchemaAndText {
  readonly inspected: SchemaInspection
  /** The content of the text; undefined without a text. */
  readonly spec: AppSpec | undefined
}

/**
 * Describes tables that migrations do not create. Checking the text of a thousand models takes much memory, so the description of the database is no
 * longer referenced then.
 */
async function describeTables(
  database: Database,
  options: IntrospectOptions,
  spec: AppSpec | undefined,
): Promise<Introspected> {
  const described = await writeModels(database, options, spec)
  options.onStage?.('checking the configuration')
  specOfWritten(described.text, options.file)
  return described
}

async function writeModels(
  database: Database,
  options: IntrospectOptions,
  spec: AppSpec | undefined,
): Promise<Introspected> {
  options.onStage?.('reading the tables')
  await rejectAbsentSchemas(database, options.schemas)
  const ofModels = options.update && spec ? await schemasOfModels(database, spec) : undefined
  const inspected = await inspectSchema(database, { schemas: options.schemas ?? ofModels })
  rejectAbsent(inspected, options.tables, options.schemas ?? ofModels)
  rejectQualified(inspected, spec, options.tables)
  const catalog = await readTables(
    database,
    inspected.tables.map(({ name }) => name),
  )
  options.onStage?.('writing the models')
  const update = async (text: string, spec: AppSpec) =>
    updateModels(database, { ...options, text, spelling: spellingOf(options), inspected, catalog, spec })
  const first = options.update && spec && options.text !== undefined ? await update(options.text, spec) : undefined
  const choice = chooseModelsWithRelations(inspected, catalog, {
    existing: modelsByTable(spec),
    only: options.tables,
    managed: false,
    spelling: spellingOf(options),
    inDialect: () => hasDialect(options.text ?? '', options.file),
  })
  const start = first?.text ?? options.text
  const grown =
    start !== undefined && choice.models.length === 0
      ? start
      : writeText(choice, { ...options, text: start }, 'database: { managed: false }')
  // Existing fields can refer to the models that were just added.
  const second = first && grown !== start ? await update(grown, specOfText(grown, options.file)) : undefined
  const left = [...choice.left, ...choice.models.flatMap((model) => model.left), ...((second ?? first)?.left ?? [])]
  return {
    text: second?.text ?? grown,
    models: choice.models,
    changes: [...(first?.changes ?? []), ...(second?.changes ?? [])],
    migration: undefined,
    left,
    isPartial: choice.left.length > 0,
    remaining: (second ?? first)?.remaining ?? [],
    hasUnexplained: (second ?? first)?.hasUnexplained ?? false,
  }
}

function spellingOf({ spelling = 'snake_case' }: IntrospectOptions): FieldSpelling {
  return spelling
}

/** Describes tables that migrations of this project make from now on. */
async function takeOver(
  database: Database,
  options: IntrospectOptions,
  { inspected, spec: before, scratch }: SchemaAndText & { readonly scratch: Database },
): Promise<Introspected> {
  const { directory, file, tables, onStage } = options
  rejectAbsent(inspected, tables)
  rejectQualified(inspected, before, tables)
  onStage?.('replaying the migrations')
  const known = await tablesOfFiles(database, directory, scratch)
  const catalog = await readTables(database, [])
  const choice = chooseModelsWithRelations(inspected, catalog, {
    existing: modelsByTable(before),
    only: tables,
    managed: true,
    spelling: spellingOf(options),
    inDialect: () => hasDialect(options.text ?? '', options.file),
  })
  const unmanaged = declaredModels(before).filter(({ managed }) => !managed)
  const recorded = recordTables(
    inspected,
    known,
    new Set([...choice.unmanageable.keys(), ...unmanaged.map(({ table }) => table)]),
  )
  const written = writeText(choice, options)
  const spec = specOfWritten(written, file)
  onStage?.('planning, to see that nothing is left')
  const { migration, remaining } = await recordInFile(recorded, { spec, known, directory, scratch })
  return {
    text: written,
    models: choice.models,
    changes: [],
    migration,
    left: [...choice.left, ...choice.models.flatMap((model) => model.left), ...recorded.left],
    isPartial: choice.left.length > 0,
    remaining,
    hasUnexplained: false,
  }
}

/** All files must be applied; otherwise the new file would not be the next one. */
async function tablesOfFiles(
  database: Database,
  directory: MigrationFolder,
  scratch: Database,
): Promise<readonly string[]> {
  const files = await readMigrations(directory)
  await rejectUnlessAllApplied(database, files)
  if (files.length === 0) return []
  return onReplayed(scratch, files, async (_session, made) => made.map(({ name }) => name))
}

/**
 * Writes the migration as the next file, and records it as applied, because its tables exist already.
 * @returns its path
 */
export async function writeIntrospected(
  database: Database,
  directory: MigrationFolder,
  migration: string,
): Promise<string> {
  const number = nextNumber(await readMigrations(directory))
  const file = await writeNext(directory, MIGRATION_NAME, migration)
  const remove = () => rmSync(file, { force: true })
  process.once('exit', remove)
  try {
    await recordMigration(database, directory, `${digitsOf(number)}_${MIGRATION_NAME}`)
  } catch (error) {
    remove()
    throw error
  } finally {
    process.off('exit', remove)
  }
  return file
}
