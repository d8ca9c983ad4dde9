import type { Connection } from '../../db/database.js'
import type { FileStatement } from '../files/statements.js'
import { attempt } from '../run/session.js'
import { find } from './compare/pair.js'
import { inherited, type ViewPart } from './view-parts.js'
import { type CatalogView, dropView, readViews } from './views.js'

/**
 * Runs statements of a migration. Views that they drop as plans do, and create again, keep the grants, comments, rules and triggers that only this database
 * has, because plans are made without it.
 * @returns a sentence for each view and for each lost part
 */
export async function keepViewParts(
  session: Connection,
  statements: readonly FileStatement[],
  work: () => Promise<void>,
): Promise<readonly string[]> {
  const texts = new Set(statements.map(({ text }) => text))
  const isDropped = (view: CatalogView) => texts.has(dropView(view))
  const drops = [...texts].some((text) => text.startsWith('drop view '))
  const before = drops ? (await readViews(session)).filter(isDropped) : []
  await work()
  const after = before.length === 0 ? [] : await readViews(session)
  const notes: string[] = []
  for (const view of before) {
    const made = find(after, view.name)
    if (made) notes.push(...(await restore(session, view, made)))
  }
  return notes
}

async function restore(session: Connection, former: CatalogView, made: CatalogView): Promise<readonly string[]> {
  const missing = former.parts.filter(({ name }) => !made.parts.some((part) => part.name === name))
  const { parts } = inherited({ ...former, parts: missing }, made)
  const kept: string[] = []
  const lost: string[] = []
  const lose = ({ name, sql }: ViewPart, reason: string) =>
    lost.push(`the view ${made.name} has lost: ${name}, because ${reason}; it was: ${sql}`)
  for (const part of missing) {
    const reason = parts.includes(part)
      ? (await attempt(session, () => session.query({ text: part.sql, values: [] })))?.message
      : 'the columns of the view have changed'
    if (reason === undefined) kept.push(part.name)
    else lose(part, reason)
  }
  return [
    ...(kept.length === 0 ? [] : [`the view ${made.name} keeps parts that no migration has made: ${kept.join('; ')}`]),
    ...lost,
  ]
}
