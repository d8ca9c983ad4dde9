import type { AppSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { compareJournal, rejectUnlessAllApplied } from '../files/journal.js'
import { type Migration, parseMigration } from '../files/files.js'
import { partsOf } from '../files/steps.js'

/** The files before an adoption. */
interface FilesBefore {
  readonly files: readonly Migration[]
  /** The file of an adoption of the same object that was killed before it was recorded as applied. */
  readonly unrecorded: Migration | undefined
}

/**
 * Leaves out the file of a killed adoption of the object.
 * @throws MigrationError if other migrations are pending
 */
export async function filesBefore(
  connection: Connection,
  all: readonly Migration[],
  object: string,
): Promise<FilesBefore> {
  const last = all.at(-1)
  const isOfObject = last !== undefined && [...last.adopted, ...last.known].includes(object)
  const statuses = isOfObject ? await compareJournal(connection, all) : []
  const isPending = statuses.some(({ name, state }) => name === last?.name && state === 'pending')
  const files = isPending ? all.slice(0, -1) : all
  await rejectUnlessAllApplied(connection, files)
  return { files, unrecorded: isPending ? last : undefined }
}

/** Whether a file has exactly this text. */
export function hasText({ name, file, checksum }: Migration, text: string): boolean {
  const parsed = parseMigration(name, file, Buffer.from(text))
  return !('errors' in parsed) && parsed.checksum === checksum
}

/** The file of an adoption that was killed before it wrote a field for its column into the configuration. */
export function adoptionWithoutField(
  files: readonly Migration[],
  { spec, object }: { readonly spec: AppSpec; readonly object: string },
): Migration | undefined {
  const [table, name] = partsOf(object)
  const model = spec.models.find((each) => each.table === table)
  if (model === undefined || model.fields.some((field) => field.column === name)) return undefined
  return files.findLast(({ adopted }) => adopted.includes(object))
}
