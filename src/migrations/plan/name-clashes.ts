import type { WantedConstraint, WantedTable } from './sql.js'

/** A constraint or an index. */
interface Part {
  readonly name: string
  readonly columns: readonly string[]
  readonly condition?: string | undefined
}

interface Named {
  readonly name: string
  readonly owner: string
  /** Whether it is a partial index. Its name leaves out some characters of the condition. */
  readonly isPartial?: true
}

const KINDS: Readonly<Record<WantedConstraint['kind'], string>> = {
  primary_key: 'key',
  unique: 'key',
  foreign_key: 'foreign key',
  check: 'check',
}

/**
 * Returns a sentence for each name that two parts of the schema would have: names are made from the names of columns, so two parts can get the same name.
 * Tables, keys and indexes share one namespace, and the other constraints of each table have one.
 */
export function nameClashes(tables: readonly WantedTable[]): readonly string[] {
  const shared = tables.flatMap(({ name, constraints, indexes }): readonly Named[] => [
    { name, owner: `table ${name}` },
    ...constraints.filter(isKey).map((each) => named(KINDS[each.kind], each, name)),
    ...indexes.map((each) => named('index', each, name)),
  ])
  const own = tables.map(({ name, constraints }) =>
    constraints.filter((each) => !isKey(each)).map((each) => named(KINDS[each.kind], each, name)),
  )
  return [shared, ...own].flatMap(clashesAmong)
}

function isKey({ kind }: WantedConstraint): boolean {
  return KINDS[kind] === 'key'
}

function named(kind: string, { name, columns, condition }: Part, table: string): Named {
  const owner = `the ${kind} (${columns.join(', ')}) of table ${table}`
  return condition === undefined ? { name, owner } : { name, owner: `${owner} where ${condition}`, isPartial: true }
}

function clashesAmong(all: readonly Named[]): readonly string[] {
  return all.flatMap(({ name, owner, isPartial }, index) => {
    const first = all.findIndex((other) => other.name === name)
    if (first === index) return []
    const help = isPartial ? 'create one of them by hand in a migration' : 'rename a table or a field'
    return [`${all[first]?.owner} and ${owner} would both be called ${name}: ${help}`]
  })
}
