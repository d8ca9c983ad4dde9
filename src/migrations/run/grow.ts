import { isDeepStrictEqual } from 'node:util'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { type Migration, parseMigration } from '../files/files.js'
import { compareJournal, JOURNAL, rejectDisagreement } from '../files/journal.js'
import { renderTogether } from '../files/render.js'
import { type Additions, planAdditions } from '../plan/additions.js'
import { readViews } from '../plan/views.js'
import { asOnlyMigrator } from './lock.js'
import { addsChoices, FROM, onReplayed } from './scratch.js'
import { runStatements } from './session.js'

/** The last migration, and its text after more additions. */
export interface Growth {
  /** The migration with the new text. */
  readonly grown: Migration
  readonly text: string
  /** The part that the database lacks. */
  readonly added: Migration
}

interface Configurations {
  readonly spec: AppSpec
  /** The previous configuration, as for `planAdditions`. */
  readonly before: AppSpec
}

/** Whether additions can go into the last migration: choices of an enum must be committed before statements that use them. */
export function canGrow(last: Migration, { choicesText }: Additions): boolean {
  return choicesText === undefined && !addsChoices(last)
}

/**
 * Makes the text of the last migration with the additions of a plan: the statements that a plan without this migration makes, if they lead to the
 * same schema, otherwise those of the migration and of the plan, one after the other. Both ways are tested in the scratch database.
 * @param files all migrations; the last one is replaced
 * @throws MigrationError if the plan has no text
 */
export async function planGrowth(
  { spec, before }: Configurations,
  files: readonly Migration[],
  plan: Additions,
  scratch: Database,
): Promise<Growth> {
  const [earlier, last] = [files.slice(0, -1), files.at(-1)]
  if (!last || plan.text === undefined) throw new MigrationError(['there is nothing to add to a migration'])
  const { name, file } = last
  const parse = (text: string): Migration => {
    const migration = parseMigration(name, file, Buffer.from(text))
    if ('errors' in migration) throw new MigrationError(migration.errors)
    return migration
  }
  const added = parse(plan.text)
  const schemaOf = (all: readonly Migration[]) =>
    onReplayed(scratch, all, async (session, tables) => ({ tables, views: await readViews(session, FROM) }))
  const wanted = await schemaOf([...files, added])
  const isRight = async (text: string) => {
    const grown = parse(text)
    const owns = [last, added].flatMap((each) => each.owns ?? [])
    return (
      isDeepStrictEqual(new Set(grown.owns), new Set(owns)) &&
      isDeepStrictEqual(new Set(grown.takenOver), new Set([...last.takenOver, ...added.takenOver])) &&
      isDeepStrictEqual(await schemaOf([...earlier, grown]), wanted)
    )
  }
  const { text: whole } = await planAdditions(spec, before, earlier, scratch)
  const together = renderTogether([last, added])
  const text = whole !== undefined && (await isRight(whole)) ? whole : together
  if (text === together && !(await isRight(together)))
    throw new MigrationError([`the additions and ${name} do not create the same schema in one file`])
  return { grown: parse(text), text, added }
}

/**
 * Applies the additions to a database that has the last migration, and records its new text, in one transaction.
 * @param files the migrations with the old text
 * @throws MigrationError if the database has not applied exactly these files, or if a statement fails; nothing is changed
 */
export function applyGrowth(
  database: Database,
  files: readonly Migration[],
  { grown: { name, checksum }, added }: Growth,
): Promise<void> {
  return asOnlyMigrator(database, async (session) => {
    const statuses = await compareJournal(session, files)
    rejectDisagreement(statuses)
    if (statuses.at(-1)?.name !== name || statuses.some(({ state }) => state !== 'applied'))
      throw new MigrationError([`${name} is not the last migration of this database`])
    await runStatements(session, added.file, added.up)
    await session.query({ text: `update ${JOURNAL} set checksum = $1 where name = $2`, values: [checksum, name] })
    await session.restoreSettings()
  })
}
