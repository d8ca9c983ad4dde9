import { type FileStatement, NAME, QUOTED } from '../files/statements.js'

/** An object that a statement destroys: a column, a table with all its rows, or rows of a table. */
export interface Destroyed {
  /** `books` or `books.title`, as in the statement. */
  readonly object: string
  /** The same under the names before the first parsed statement. */
  readonly was: string
  readonly kind: 'column' | 'table' | 'rows'
  /** The foreign keys by which rows that refer to these are destroyed with them. */
  readonly cascade?: 'all foreign keys' | 'on delete cascade'
}

const QUALIFIED = String.raw`${NAME}(?:\s*\.\s*${NAME})?`
const ALTER = new RegExp(
  String.raw`^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(${QUALIFIED})\s*\*?\s+(.*)$`,
  'isu',
)

/** The effects of statements and `alter table` actions on names. The first match counts. */
interface Reading {
  readonly pattern: RegExp
  /** @param names the captures of the pattern, without quotes */
  readonly read: (names: readonly string[], ledger: Ledger, table: string) => readonly Destroyed[]
}

const reading = (pattern: string, read: Reading['read']): Reading => ({ pattern: new RegExp(pattern, 'isu'), read })

const ACTIONS: readonly Reading[] = [
  reading(String.raw`^drop\s+constraint\b`, () => []),
  reading(String.raw`^drop\s+(?:column\s+)?(?:if\s+exists\s+)?(${NAME})`, ([column = ''], ledger, table) =>
    ledger.drop(`${table}.${column}`, 'column'),
  ),
  reading(String.raw`^add\s+constraint\b`, () => []),
  // The column may have existed before the file.
  reading(String.raw`^add\s+(?:column\s+)?if\s+not\s+exists\b`, () => []),
  reading(String.raw`^add\s+(?:column\s+)?(${NAME})`, ([column = ''], ledger, table) =>
    ledger.make(`${table}.${column}`),
  ),
  reading(String.raw`^rename\s+constraint\b`, () => []),
  reading(String.raw`^rename\s+to\s+(${NAME})`, ([to = ''], ledger, table) => ledger.rename(table, to)),
  reading(String.raw`^rename\s+(?:column\s+)?(${NAME})\s+to\s+(${NAME})`, ([from = '', to = ''], ledger, table) =>
    ledger.rename(`${table}.${from}`, `${table}.${to}`),
  ),
]

const STATEMENTS: readonly Reading[] = [
  reading(String.raw`^create\s+(?:unlogged\s+|temp\s+|temporary\s+)?table\s+if\s+not\s+exists\b`, () => []),
  reading(String.raw`^create\s+(?:unlogged\s+|temp\s+|temporary\s+)?table\s+(${QUALIFIED})`, ([table = ''], ledger) =>
    ledger.make(table),
  ),
  reading(String.raw`^drop\s+table\s+(?:if\s+exists\s+)?(${QUALIFIED}(?:\s*,\s*${QUALIFIED})*)`, (tables, ledger) =>
    tables.flatMap((table) => ledger.drop(table, 'table')),
  ),
]

/** Statements that can delete rows, alone or with others inside. */
const DELETES = /^(?:delete|truncate|merge|with|explain|copy|prepare|do)\b/i
const DELETED = new RegExp(
  String.raw`\b(delete\s+from|truncate|merge\s+into)\s+(?:table\s+)?(?:only\s+)?(${QUALIFIED}(?:\s*,\s*(?:only\s+)?${QUALIFIED})*)`,
  'giu',
)

/** Comments, string literals, and quoted identifiers, in which an apostrophe may stand alone. */
const OPAQUE = new RegExp(String.raw`--[^\n]*|/\*[^]*?\*/|${QUOTED}`, 'gi')

/** Finds the tables of which a statement deletes rows. */
function readDeletes(text: string, ledger: Ledger): readonly Destroyed[] {
  if (!DELETES.test(text)) return []
  const code = text.replaceAll(OPAQUE, (part) => (part.startsWith('"') ? part : ' '))
  const merges = /\bthen\s+delete\b/i.test(code)
  const truncated = /\bcascade\b/i.test(code) ? 'all foreign keys' : undefined
  return [...code.matchAll(DELETED)].flatMap(([, verb = '', tables = '']) => {
    if (/^merge/i.test(verb) && !merges) return []
    const cascade = /^truncate/i.test(verb) ? truncated : 'on delete cascade'
    return namesIn(tables).flatMap((table) => ledger.lose(table, cascade))
  })
}

/** The original names of objects, and the objects created since. */
interface Ledger {
  make(object: string): readonly Destroyed[]
  rename(from: string, to: string): readonly Destroyed[]
  drop(object: string, kind: Destroyed['kind']): readonly Destroyed[]
  lose(table: string, cascade: Destroyed['cascade']): readonly Destroyed[]
}

/** Finds the objects that statements destroy, of those that existed before the first statement. */
export function destroyedBy(statements: readonly FileStatement[]): readonly Destroyed[] {
  const ledger = openLedger()
  return statements.flatMap(({ text }) => readStatement(withoutComments(text), ledger))
}

function readStatement(text: string, ledger: Ledger): readonly Destroyed[] {
  const [, target, actions] = ALTER.exec(text) ?? []
  if (target !== undefined && actions !== undefined) {
    const [table = ''] = namesIn(target)
    return splitActions(actions).flatMap((action) => readBy(ACTIONS, action, { ledger, table }))
  }
  return [...readBy(STATEMENTS, text, { ledger, table: '' }), ...readDeletes(text, ledger)]
}

function readBy(
  readings: readonly Reading[],
  text: string,
  { ledger, table }: { readonly ledger: Ledger; readonly table: string },
): readonly Destroyed[] {
  for (const { pattern, read } of readings) {
    const found = pattern.exec(text)
    if (found) return read(found.slice(1).flatMap(namesIn), ledger, table)
  }
  return []
}

function openLedger(): Ledger {
  const fresh = new Set<string>()
  const names = new Map<string, string>()
  const tableOf = (object: string) => object.slice(0, Math.max(0, object.lastIndexOf('.')))
  const before = (object: string): string => {
    const known = names.get(object)
    if (known !== undefined) return known
    const table = tableOf(object)
    return names.has(table) ? `${names.get(table)}${object.slice(table.length)}` : object
  }
  const destroyed = (object: string, kind: Destroyed['kind']) =>
    fresh.has(object) || fresh.has(tableOf(object)) ? [] : [{ object, was: before(object), kind }]
  return {
    make(object) {
      fresh.add(object)
      return []
    },
    rename(from, to) {
      const was = before(from)
      if (fresh.has(from)) fresh.add(to)
      names.set(to, was)
      return []
    },
    drop: destroyed,
    lose: (table, cascade) => destroyed(table, 'rows').map((rows) => (cascade ? { ...rows, cascade } : rows)),
  }
}

/** Splits a list of names, spelled as in the catalogue, without the schema `public`. */
function namesIn(list: string): readonly string[] {
  return [...list.matchAll(new RegExp(QUALIFIED, 'gu'))]
    .map(([name]) =>
      [...name.matchAll(new RegExp(NAME, 'gu'))]
        .map(([part]) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()))
        .join('.')
        .replace(/^public\./, ''),
    )
    .filter((name) => name !== 'only')
}

/** Splits the actions of one `alter table` at commas outside parentheses and quotes. */
function splitActions(text: string): readonly string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[^]/g)) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0
    if (token === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += token
  }
  return parts.map((part) => part.trim())
}

function withoutComments(text: string): string {
  return text
    .replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\//g, (token) => (/^['"]/.test(token) ? token : ' '))
    .trim()
}
