import { bareName, formatTableName, readTableName, type TableName } from '../../fields/table-name.js'
import { type FileStatement, NAME, QUOTED, tokensOf, unquoted } from '../files/statements.js'

/** A table or composite type in its canonical spelling, or a column of one. */
export interface Named {
  readonly table: string
  readonly column?: string | undefined
}

/** `books`, `sales.books`, `books.title`. */
export function formatNamed({ table, column }: Named): string {
  return column === undefined ? table : `${table}.${column}`
}

/** An object that a statement destroys: a column, a table with all its rows, rows of a table, or an attribute of a composite type, which the values of all columns of the type lose. */
export interface Destroyed {
  /** The object, as in the statement. */
  readonly object: Named
  /** The object under the name that it had before the first statement. */
  readonly was: Named
  readonly kind: 'column' | 'table' | 'rows' | 'attribute'
  /** The foreign keys through which the deletion also removes rows of other tables. */
  readonly cascade?: 'all foreign keys' | 'on delete cascade' | undefined
}

const QUALIFIED = String.raw`${NAME}(?:\s*\.\s*${NAME})?`
const ALTER_TABLE = new RegExp(
  String.raw`^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(${QUALIFIED})\s*\*?\s+(.*)$`,
  'isu',
)
const ALTER_TYPE = new RegExp(String.raw`^alter\s+type\s+(${QUALIFIED})\s+(.*)$`, 'isu')

/** The effect of one kind of statement or `alter table` action on names. In a list of them, the first one that matches counts. */
interface Reading {
  readonly pattern: RegExp
  /** @param names the captures of the pattern, as SQL */
  readonly read: (names: readonly string[], ledger: Ledger, table: string) => readonly Destroyed[]
}

function reading(pattern: string, read: Reading['read']): Reading {
  return { pattern: new RegExp(pattern, 'isu'), read }
}

const MOVES: readonly Reading[] = [
  reading(String.raw`^rename\s+to\s+(${NAME})`, ([to = ''], ledger, table) =>
    ledger.rename({ table }, { table: ledger.nameIn(readTableName(table)?.schema, unquoted(to)) }),
  ),
  reading(String.raw`^set\s+schema\s+(${NAME})`, ([schema = ''], ledger, table) =>
    ledger.rename({ table }, { table: ledger.nameIn(unquoted(schema), bareName(table)) }),
  ),
]

const TABLE_ACTIONS: readonly Reading[] = [
  reading(String.raw`^drop\s+constraint\b`, () => []),
  reading(String.raw`^drop\s+(?:column\s+)?(?:if\s+exists\s+)?(${NAME})`, ([column = ''], ledger, table) =>
    ledger.drop({ table, column: unquoted(column) }, 'column'),
  ),
  reading(String.raw`^add\s+constraint\b`, () => []),
  // The column may have existed before the file.
  reading(String.raw`^add\s+(?:column\s+)?if\s+not\s+exists\b`, () => []),
  reading(String.raw`^add\s+(?:column\s+)?(${NAME})`, ([column = ''], ledger, table) =>
    ledger.make({ table, column: unquoted(column) }),
  ),
  reading(String.raw`^rename\s+constraint\b`, () => []),
  ...MOVES,
  reading(String.raw`^rename\s+(?:column\s+)?(${NAME})\s+to\s+(${NAME})`, ([from = '', to = ''], ledger, table) =>
    ledger.rename({ table, column: unquoted(from) }, { table, column: unquoted(to) }),
  ),
]

const TYPE_ACTIONS: readonly Reading[] = [
  reading(String.raw`^drop\s+attribute\s+(?:if\s+exists\s+)?(${NAME})`, ([column = ''], ledger, table) =>
    ledger.drop({ table, column: unquoted(column) }, 'attribute'),
  ),
  reading(String.raw`^add\s+attribute\s+(${NAME})`, ([column = ''], ledger, table) =>
    ledger.make({ table, column: unquoted(column) }),
  ),
  reading(String.raw`^rename\s+attribute\s+(${NAME})\s+to\s+(${NAME})`, ([from = '', to = ''], ledger, table) =>
    ledger.rename({ table, column: unquoted(from) }, { table, column: unquoted(to) }),
  ),
  ...MOVES,
]

const STATEMENTS: readonly Reading[] = [
  reading(String.raw`^create\s+(?:unlogged\s+|temp\s+|temporary\s+)?table\s+if\s+not\s+exists\b`, () => []),
  reading(String.raw`^create\s+(?:unlogged\s+|temp\s+|temporary\s+)?table\s+(${QUALIFIED})`, ([made = ''], ledger) =>
    ledger.tablesIn(made).flatMap((table) => ledger.make({ table })),
  ),
  reading(String.raw`^create\s+type\s+(${QUALIFIED})`, ([made = ''], ledger) =>
    ledger.tablesIn(made).flatMap((table) => ledger.make({ table })),
  ),
  reading(
    String.raw`^drop\s+table\s+(?:if\s+exists\s+)?(${QUALIFIED}(?:\s*,\s*${QUALIFIED})*)`,
    ([dropped = ''], ledger) => ledger.tablesIn(dropped).flatMap((table) => ledger.drop({ table }, 'table')),
  ),
]

/** Statements that name commands without executing them. */
const DEFINES =
  /^(?:create\s+(?:or\s+replace\s+)?(?:constraint\s+|event\s+)?(?:function|procedure|rule|trigger|policy)|alter|drop|comment|grant|revoke)\b/i
const DELETED = new RegExp(
  String.raw`\b(delete\s+from|truncate|merge\s+into)\s+(?:table\s+)?(?:only\s+)?(${QUALIFIED}(?:\s*,\s*(?:only\s+)?${QUALIFIED})*)`,
  'giu',
)

/** Comments, string literals, and quoted identifiers, in which an apostrophe may stand alone. */
const OPAQUE = new RegExp(String.raw`--[^\n]*|/\*[^]*?\*/|${QUOTED}`, 'gi')

/** Finds the tables of which a statement deletes rows. */
function readDeletes(text: string, ledger: Ledger): readonly Destroyed[] {
  if (DEFINES.test(text)) return []
  const code = codeOf(text)
  const merges = /\bthen\s+delete\b/i.test(code)
  const truncated = /\bcascade\b/i.test(code) ? 'all foreign keys' : undefined
  return [...code.matchAll(DELETED)].flatMap(([, verb = '', tables = '']) => {
    if (/^merge/i.test(verb) && !merges) return []
    const cascade = /^truncate/i.test(verb) ? truncated : 'on delete cascade'
    return ledger.tablesIn(tables).flatMap((table) => ledger.lose(table, cascade))
  })
}

/** A statement without comments and string literals. The literal of a `do` block is code. */
function codeOf(text: string): string {
  const opaque = /^do\b/i.test(text) ? /^e?'/i : /^(?:e?'|\$[^$]*\$)/i
  const code = text.replace(
    /^(do\b[^'$]*)'((?:[^']|'')*)'/is,
    (_, head: string, body: string) => `${head} ${body.replaceAll("''", "'")}`,
  )
  return replaceTokens(code, opaque).replaceAll(OPAQUE, (part) => (part.startsWith('"') ? part : ' '))
}

/** The original names of objects, and the objects created since. */
interface Ledger {
  /** The tables in a comma-separated list of names. */
  tablesIn(list: string): readonly string[]
  /** The table of this name in a schema. */
  nameIn(schema: string | undefined, name: string): string
  make(object: Named): readonly Destroyed[]
  rename(from: Named, to: Named): readonly Destroyed[]
  drop(object: Named, kind: Destroyed['kind']): readonly Destroyed[]
  lose(table: string, cascade: Destroyed['cascade']): readonly Destroyed[]
}

/**
 * Finds the objects that statements destroy, of those that existed before the first statement.
 * @param schema the current schema; canonical names of its tables have no schema
 */
export function destroyedBy(statements: readonly FileStatement[], schema: string): readonly Destroyed[] {
  const ledger = openLedger(schema)
  return statements.flatMap(({ text }) => readStatement(withoutComments(text), ledger))
}

const ALTERATIONS = [
  [ALTER_TABLE, TABLE_ACTIONS],
  [ALTER_TYPE, TYPE_ACTIONS],
] as const

function readStatement(text: string, ledger: Ledger): readonly Destroyed[] {
  for (const [pattern, readings] of ALTERATIONS) {
    const [, target = '', actions] = pattern.exec(text) ?? []
    if (actions === undefined) continue
    const [table] = ledger.tablesIn(target)
    if (table === undefined) return []
    return splitActions(actions).flatMap((action) => readBy(readings, action, { ledger, table }))
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
    if (found) return read(found.slice(1), ledger, table)
  }
  return []
}

function openLedger(current: string): Ledger {
  const fresh = new Set<string>()
  const names = new Map<string, Named>()
  const keyOf = ({ table, column }: Named) => JSON.stringify([table, column])
  const before = (object: Named): Named => {
    const known = names.get(keyOf(object))
    if (known !== undefined || object.column === undefined) return known ?? object
    return { ...before({ table: object.table }), column: object.column }
  }
  const nameIn = (schema: string | undefined, name: string) =>
    formatTableName({ schema: schema === current ? undefined : schema, name })
  const isFresh = (object: Named) => fresh.has(keyOf(object)) || fresh.has(keyOf({ table: object.table }))
  const destroyed = (object: Named, kind: Destroyed['kind']) =>
    isFresh(object) ? [] : [{ object, was: before(object), kind }]
  return {
    tablesIn: (list) => tableNamesIn(list).map(({ schema, name }) => nameIn(schema, name)),
    nameIn,
    make(object) {
      fresh.add(keyOf(object))
      return []
    },
    rename(from, to) {
      const was = before(from)
      if (fresh.has(keyOf(from))) fresh.add(keyOf(to))
      else fresh.delete(keyOf(to))
      names.set(keyOf(to), was)
      return []
    },
    drop: destroyed,
    lose: (table, cascade) => destroyed({ table }, 'rows').map((rows) => ({ ...rows, cascade })),
  }
}

function tableNamesIn(list: string): readonly TableName[] {
  return [...list.matchAll(new RegExp(QUALIFIED, 'gu'))]
    .filter(([name]) => name.toLowerCase() !== 'only')
    .map(([qualified]) => {
      const [name = '', schema] = [...qualified.matchAll(new RegExp(NAME, 'gu'))]
        .map(([part]) => unquoted(part))
        .reverse()
      return { schema, name }
    })
}

/** Splits the actions of one `alter table` at commas outside parentheses and quotes. */
function splitActions(text: string): readonly string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const { token } of tokensOf(text)) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0
    if (token === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += token
  }
  return parts.map((part) => part.trim())
}

/** The text of a statement without comments. */
export function withoutComments(text: string): string {
  return replaceTokens(text, /^(?:--|\/\*)/).trim()
}

/** Replaces the tokens of a kind by spaces. */
function replaceTokens(text: string, kind: RegExp): string {
  return [...tokensOf(text)].map(({ token }) => (kind.test(token) ? ' ' : token)).join('')
}
