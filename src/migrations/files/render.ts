import { NO_TRANSACTION } from './concurrent.js'
import type { Migration } from './files.js'
import { formatLists } from '../plan/compare/ownership.js'
import { QUOTED } from './statements.js'
import { partsOf, type Step } from './steps.js'

/** Renders a file with these steps, comments on its losses, and the list of objects that it owns. */
export function render(steps: readonly Step[]): string {
  const up = renderStatements(steps.flatMap((step) => step.up))
  const down = renderStatements(steps.toReversed().flatMap((step) => step.down))
  const losses = lossesOf(steps)
  const destroys = lossesOf(steps.filter(({ safety }) => safety === 'destructive'))
    .map((loss) => `-- destroys ${loss}\n`)
    .join('')
  const cannot = losses.map((loss) => `-- cannot bring back ${loss}\n`).join('')
  const [before, after] = [destroys, cannot].map((lines) => (lines === '' ? '' : `${lines}\n`))
  const isAlone = steps.some(({ outside, up }) => outside && !up.every((text) => INDEX.test(text)))
  return `${isAlone ? `${NO_TRANSACTION}\n\n` : ''}-- up\n\n${before}${up}\n-- down\n\n${after}${down}\n${formatLists({ owns: ownedBy(steps), takenOver: [] })}`
}

/** Merges SQL migrations into the text of one file. */
export function renderTogether(files: readonly Migration[]): string {
  const up = renderStatements(files.flatMap((file) => file.up.map(({ text }) => text)))
  const down = renderStatements(files.toReversed().flatMap((file) => (file.down ?? []).map(({ text }) => text)))
  const owns = [...new Set(files.flatMap((file) => file.owns ?? []))]
  const takenOver = files.flatMap((file) => file.takenOver)
  return `-- up\n\n${up}\n-- down\n\n${down}\n${formatLists({ owns, takenOver })}`
}

function renderStatements(statements: readonly string[]): string {
  return statements.map(renderStatement).join('\n')
}

const INDEX = /^(?:create (?:unique )?|drop )index concurrently /

const QUOTES = new RegExp(QUOTED, 'g')

/** Renders a statement for a file. Reading a file normalises its line ends, so a carriage return in a string literal is written as an escape. */
export function renderStatement(statement: string): string {
  return `${statement.replaceAll(QUOTES, escapeReturns)};\n`
}

function escapeReturns(quoted: string): string {
  if (!quoted.includes('\r') || quoted.startsWith('"')) return quoted
  const escaped = quoted.startsWith('E') ? quoted : `E${quoted.replaceAll('\\', '\\\\')}`
  return escaped.replaceAll('\r', '\\r')
}

/** The constraints and indexes that steps create for resources.yaml. */
export function ownedBy(steps: readonly Step[]): readonly string[] {
  return [...new Set(steps.flatMap(({ owns = [] }) => owns))]
}

/** The losses that `down` cannot restore: `the values of books.pages`. */
export function lossesOf(steps: readonly Step[]): readonly string[] {
  return steps.flatMap(({ loss }) => (loss === undefined ? [] : [loss]))
}

/** Suggests a name: `create_books` if tables are created, `add_subtitle_to_books` for one new column, otherwise `change_books`. */
export function planName(steps: readonly Step[]): string {
  const created = steps
    .filter((step) => step.change === 'add' && partsOf(step.subject).length === 1)
    .map((step) => step.subject)
  const touched = [...new Set(steps.map((step) => partsOf(step.subject)[0]))]
  const [only] = steps
  const [table = '', column] = partsOf(only?.subject ?? '')
  if (created.length > 0) return slugOf(`create_${created.slice(0, 3).join('_')}`)
  if (steps.length === 1 && only?.change === 'add' && column !== undefined) return slugOf(`add_${column}_to_${table}`)
  return slugOf(`change_${touched.slice(0, 3).join('_')}`)
}

function slugOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '_')
}
