import { setSetting } from '../../src/config/edit/edit-field.js'
import type { Introspected } from '../../src/migrations/introspect/introspect.js'
import { specOf } from './config.js'

/** A file that somebody has edited. */
export interface EditedFile {
  readonly text: string
  /** The texts that it has only because of these edits. */
  readonly kept: readonly string[]
}

const FILE = 'resources.yaml'

function isValid(text: string): boolean {
  try {
    specOf(text)
    return true
  } catch {
    return false
  }
}

/** Writes what people add to a file of `introspect`: grants, labels, filters, orders, hidden fields and comments. */
export function writeByHand(text: string, numbers: readonly number[]): EditedFile {
  const spec = specOf(text)
  const kept: string[] = []
  let now = text
  const accept = (next: string | undefined, mark: string): void => {
    if (next === undefined || next === now || !isValid(next)) return
    now = next
    kept.push(mark)
  }
  const pick = (at: number) => {
    const resource = spec.resources[(numbers[at] ?? 0) % spec.resources.length]
    const fields = resource?.model.fields ?? []
    return { model: resource?.model.name ?? '', resource, field: fields[(numbers[at + 1] ?? 0) % fields.length] }
  }
  const afterPath = (model: string, line: string) =>
    now.replace(new RegExp(`^( {4}model: ${model}\\n {4}path: .*\\n)`, 'm'), `$1    ${line}\n`)
  if ((numbers[0] ?? 0) % 2 === 0) {
    const auth = 'auth:\n  development: { ann: {} }\n  routes: { openapi: anyone, explore: anyone } # ours: auth\n'
    const access = '    access: [{ to: anyone, may: all }] # ours: access\n'
    accept(
      now.replace('\nmodels:\n', `\n${auth}\nmodels:\n`).replaceAll(/^ {4}path: .*\n/gm, `$&${access}`),
      'ours: auth',
    )
  }
  const labelled = pick(1)
  const label = { key: 'label', value: 'Ours' }
  accept(setSetting(now, FILE, { model: labelled.model, field: labelled.field?.name ?? '' }, label), 'label: Ours')
  const hidden = pick(3)
  if (hidden.field && !hidden.resource?.model.key.includes(hidden.field))
    accept(
      setSetting(now, FILE, { model: hidden.model, field: hidden.field.name }, { key: 'private', value: true }),
      'private: true',
    )
  const filtered = pick(5)
  accept(afterPath(filtered.model, `filterable: [${filtered.field?.name}] # ours: filter`), 'ours: filter')
  const ordered = pick(7)
  accept(afterPath(ordered.model, `orderable: [${ordered.field?.name}] # ours: order`), 'ours: order')
  accept(now.replace(/^( {6}\S+:.*\})$/m, '$1 # ours: field'), 'ours: field')
  return { text: now, kept }
}

/** Enough edits for a dropped table that other tables refer to. */
const MAX_EDITS = 12

/**
 * Updates a file, and makes the changes by hand that the update asks for: each removes a line, or a name in its list.
 * @throws Error if the update still reports differences after these edits
 */
export async function followByHand(
  { text: given, kept: all }: EditedFile,
  update: (text: string) => Promise<Introspected>,
): Promise<EditedFile> {
  let text = given
  let kept = all
  const asked: string[] = []
  for (let edits = 0; edits < MAX_EDITS; edits += 1) {
    const found = await update(text).catch((error: Error) => error.message)
    if (typeof found === 'string') {
      asked.push(found)
      // A line that was edited by hand and is invalid after the change.
      const [, line] = /^resources\.yaml:(\d+): /.exec(found) ?? []
      if (line === undefined) break
      text = withoutName(text, Number(line), '')
      continue
    }
    text = found.text
    const [first] = found.remaining
    if (first === undefined) return { text, kept }
    asked.push(first)
    const changed = changeByHand(text, first)
    if (changed === text) break
    // The line may be one of the edits by hand.
    kept = kept.filter((mark) => changed.includes(mark) || !text.includes(mark))
    text = changed
  }
  throw new Error(`the advice leads nowhere: ${asked.join('\n')}`)
}

function changeByHand(text: string, sentence: string): string {
  const [, table] = /^table or view (.*) is missing$/.exec(sentence) ?? []
  if (table !== undefined) return withoutModel(text, table)
  const [, what = '', reason = ''] = /^not written: (.*?), (because .*)$/s.exec(sentence) ?? []
  const [, model = '', field = ''] = /^(\w+)\.(\w+):/.exec(what) ?? []
  const [, quoted] = /^because of (`.*`): .*; change th/s.exec(reason) ?? []
  if (quoted === undefined) return reason.includes('creates records without it') ? withoutCreate(text, model) : text
  return quoted.split('`, `').reduce((now, each) => {
    const line = each.replaceAll(/^`|`$/g, '')
    return withoutName(now, now.split('\n').findIndex((other) => other.trim() === line) + 1, field)
  }, text)
}

/** Leaves `create` out of the operations of the resources of a model. */
function withoutCreate(text: string, name: string): string {
  const spec = specOf(text)
  return spec.resources
    .filter(({ model }) => model.name === name)
    .reduce((now, { name: own, operations }) => {
      const others = `operations: [${operations.filter((each) => each !== 'create').join(', ')}]`
      return now.replace(new RegExp(`^  "?${own}"?:\\n {4}model: .*\\n(?: {4}.*\\n)*`, 'm'), (block) =>
        block.includes('    operations:')
          ? block.replace(/operations: .*/, others)
          : `${block.replace(/ {4}read_only: .*\n/, '')}    ${others}\n`,
      )
    }, text)
}

/** Removes the name of a field from the list in a line, or the line. */
function withoutName(text: string, number: number, field: string): string {
  const lines = text.split('\n')
  const line = lines[number - 1] ?? ''
  const shorter =
    field === '' ? line : line.replace(new RegExp(`([[,] *)${field}(?:, *|(?= *\\]))`), '$1').replace(/, *\]/, ']')
  const isGone = shorter === line || shorter.includes('[]')
  lines.splice(number - 1, 1, ...(isGone ? [] : [shorter]))
  return lines.join('\n')
}

/** Removes the model of a table, its resources, and the fields that refer to it, which an update adds again as plain ones. */
function withoutModel(text: string, table: string): string {
  const spec = specOf(text)
  const name = spec.models.find((model) => model.table === table)?.name ?? ''
  const own = spec.resources.filter(({ model }) => model.name === name).map((resource) => resource.name)
  const blocks = [`  ${name}:`, ...own.map((resource) => `  ${resource}:`)]
  const lines = text.split('\n')
  const isInBlock = lines.map(() => false)
  for (const [at, line] of lines.entries())
    isInBlock[at] = /^ {3,}\S/.test(line) ? (isInBlock[at - 1] ?? false) : blocks.includes(line)
  const others = lines.filter((line, at) => !isInBlock[at] && !new RegExp(`[{,] model: ${name}[ ,}]`).test(line))
  return others.join('\n')
}
