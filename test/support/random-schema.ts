import fc from 'fast-check'
import { identifier, literal } from '../../src/fields/sql-literal.js'

/** The SQL of a schema as others make it. */
export interface RandomSchema {
  /** Statements that succeed, in order. */
  readonly definitions: readonly string[]
  /** Inserts; those that break a rule of their table may fail. */
  readonly rows: readonly string[]
}

interface ColumnType {
  readonly sql: string
  /** Values in SQL; null is added. */
  readonly values: readonly string[]
  /** Whether it can be part of a primary key. */
  readonly key?: boolean
  readonly check?: (column: string) => string
  /** A check that every column of the type has. */
  readonly rule?: (column: string) => string
  readonly defaults?: readonly string[]
}

const type = (sql: string, values: readonly string[], more: Omit<ColumnType, 'sql' | 'values'> = {}): ColumnType => ({
  sql,
  values: values.map((value) => `${literal(value)}::${sql}`),
  ...more,
})

const TYPES: readonly ColumnType[] = [
  type('smallint', ['0', '-32768', '32767'], { key: true, check: (column) => `${column} <> 7`, defaults: ['1'] }),
  type('integer', ['1', '-2147483648', '2147483647'], { key: true, check: (column) => `${column} < 2147483648` }),
  type('bigint', ['1', '9007199254740991', '-9007199254740991'], { key: true, defaults: ['42'] }),
  type('real', ['1.5', '0.1', '3.4e38']),
  type('double precision', ['1.5', '0.1', '1e-300'], { defaults: ['0.5'] }),
  type('numeric', ['1', '0.10', '12345678901234567890.123456789', '-0.0'], {
    key: true,
    check: (column) => `${column} >= -5`,
  }),
  type('numeric(10,2)', ['1', '0.10', '99999999.99'], { key: true, check: (column) => `${column} > -5` }),
  type('money', ['1', '12.34']),
  type('text', ['', 'a', 'A/b c', 'é😀', '..', '"\'\\', ' '], { key: true, defaults: ["'x'", "upper('x')"] }),
  type('varchar', ['', 'b', 'a%2F'], { key: true }),
  type('varchar(12)', ['', 'c', 'twelve chars'], { key: true, check: (column) => `length(${column}) <> 3` }),
  type('char(3)', ['', 'd', 'eee'], { key: true, defaults: ["' '"] }),
  type('"char"', ['', 'z']),
  type('name', ['', 'pg_class']),
  { sql: 'text collate "C"', values: ["'x'", "'Y'"] },
  type('boolean', ['true', 'false'], { key: true, defaults: ['false'] }),
  type('date', ['2024-02-29', '0001-01-01', '9999-12-31'], { key: true, defaults: ['current_date'] }),
  type('time', ['00:00', '23:59:59.999999'], { key: true }),
  type('timetz', ['10:00+02']),
  type('timestamp', ['2024-02-29 10:20:30.123456', '9999-12-31'], { key: true, defaults: ['now()'] }),
  type('timestamp(0)', ['2024-02-29 10:20:30']),
  type('timestamptz', ['2024-02-29 10:20:30.123456+01', '0001-01-02 00:00+00'], { key: true }),
  type('timestamptz(3)', ['2024-02-29 10:20:30.123+01']),
  type('timestamp(3)[]', ['{2024-02-29 10:20:30.12,NULL}']),
  type('interval day to second', ['1 day 02:03:04']),
  type('interval', ['1 year 2 days', '-1:02:03.5', '0'], { defaults: ["'1 day 02:03:04'"] }),
  type('uuid', ['5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3e'], { key: true, defaults: ['gen_random_uuid()'] }),
  type('json', ['{"a": 1, "a": 2}', '[1.5, 1e300]', '"x"']),
  type('jsonb', ['{"a": 1}', '[1.5]'], { defaults: ["'{}'"] }),
  type('bytea', ['\\x', '\\x00ff', '\\x616263', `\\x${'ff'.repeat(90)}`], { key: true }),
  type('inet', ['10.0.0.1', '::1', '10.0.0.0/8'], { key: true, defaults: ["'10.0.0.1'"] }),
  type('cidr', ['10.0.0.0/8', '::/0'], { key: true }),
  type('inet[]', ['{10.0.0.1,::1/64,NULL}']),
  type('interval[]', ['{1 day,-00:30,NULL}']),
  type('real[]', ['{0.1,1e-45,NULL}']),
  type('macaddr', ['08:00:2b:01:02:03']),
  type('bit(3)', ['101']),
  type('varbit', ['', '1010']),
  type('point', ['(1,2)']),
  type('int4range', ['[1,5)', 'empty']),
  type('tsvector', ["'a':1 'b':2"]),
  type('xml', ['<a/>']),
  type('oid', ['1', '4294967295']),
  type('text[]', ['{}', '{a,b}', '{a,NULL,"x,y"}', '{NULL,""}'], { defaults: ["'{x}'"] }),
  type('integer[]', ['{}', '{1,2}', '{NULL}']),
  type('timestamptz[]', ['{2024-02-29 10:20:30+01,NULL}', '{}']),
  type('numeric(6,2)[]', ['{1.5,NULL}']),
  type('varchar(9)[]', ['{"a b","\\"\\\\"}'], { check: (column) => `cardinality(${column}) < 5` }),
  type('bytea[]', ['{"\\\\x00ff",NULL}']),
  type('xml[]', ['{<a/>,NULL}']),
  type('mood[]', ['{sad,"it\'s"}']),
  type('uuid[]', ['{5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3e}']),
  type('mood', ['sad', "it's"], { key: true }),
  type('year', ['1999', '2024'], { key: true }),
  type('late_year', ['1999', '2024'], { key: true }),
  type('feeling', ['sad', "it's"]),
  type('label', ['x', 'yy'], { key: true }),
  type('pair', ['(1,a)']),
  type('"Größe-(cm)"', ['(1)']),
]

/** Types that fields describe, with the rules and defaults that applications give them. */
const ORDINARY_TYPES: readonly ColumnType[] = [
  ...TYPES.filter(({ sql }) =>
    /^(?:smallint|integer|bigint|double precision|numeric.*|text|varchar.*|char.*|boolean|date|timestamp|timestamptz|uuid|jsonb|text\[\]|integer\[\]|mood)$/.test(
      sql,
    ),
  ),
  type('mood', ['sad', "it's"], { key: true, defaults: ["'sad'"] }),
  type('mood', ['sad', 'A b'], { defaults: ["'A b'"], check: (column) => `${column} <> 'it''s'` }),
  type('text', ['new', 'paid'], {
    key: true,
    rule: (column) => `${column} in ('new', 'paid', 'sent')`,
    defaults: ["'new'"],
  }),
  type('varchar(10)', ['new', 'paid'], { rule: (column) => `${column} in ('new', 'paid')`, defaults: ["'new'"] }),
  type('text', ['abc', 'a'], { key: true, rule: (column) => `length(${column}) between 1 and 40`, defaults: ["'a'"] }),
  type('integer', ['1', '50'], { rule: (column) => `${column} between 1 and 100`, defaults: ['1'] }),
  type('numeric(8,2)', ['0', '9.99'], { rule: (column) => `${column} >= 0`, defaults: ['0'] }),
]

const PRELUDE = [
  `create type mood as enum ('sad', 'it''s', 'A b')`,
  'create domain year as integer check (value between 1900 and 2100)',
  'create domain late_year as year check (value > 1950)',
  'create domain feeling as mood',
  `create domain label as varchar(20) not null default 'x' check (value <> '')`,
  'create type pair as (a integer, b text)',
  'create type "Größe-(cm)" as (width integer)',
  'create function keep() returns trigger language plpgsql as $$ begin return new; end $$',
]

const INDEXES = {
  plain: (table: string, column: string) => `create index on ${table} (${column})`,
  unique: (table: string, column: string) => `create unique index on ${table} (${column})`,
  hash: (table: string, column: string) => `create index on ${table} using hash (${column})`,
  partial: (table: string, column: string) => `create index on ${table} (${column}) where ${column} is not null`,
  expression: (table: string, column: string) => `create index on ${table} ((${column} is null))`,
  ofValue: (table: string, column: string, value: string) =>
    `create index on ${table} (${column}) where ${column} = ${value}`,
  uniqueOfValue: (table: string, column: string, value: string) =>
    `create unique index on ${table} (${column}) where ${column} = ${value}`,
} as const

const NAMES = [
  'id',
  'name',
  'displayName',
  'e-mail',
  'select',
  'Order Details',
  'a.b',
  'it"s',
  'größe',
  '2nd',
  'user_id',
  'UserID',
  'ID',
  'x'.repeat(63),
  'page',
  'cursor',
  'constructor',
  '__proto__',
  'url',
  'fields',
  ' ',
  'Id',
  ' padded ',
  'a,b:c*',
  '100%',
  'tab\there',
  'toString',
  'count',
  'bulk',
  'a__in',
  'a',
  'ids',
  'search',
  'order_by',
  '日本',
  'created_at',
  'null',
  'TRUE',
]

const ORDINARY_NAMES = [
  'id',
  'name',
  'status',
  'kind',
  'price',
  'displayName',
  'user_id',
  'Order Details',
  'created_at',
  'title',
  'notes',
]

const tableOf = (
  names: readonly string[],
  types: readonly ColumnType[],
  { kinds, extras }: { kinds: readonly string[]; extras: readonly string[] },
) => {
  const name = fc.constantFrom(...names)
  const column = fc.record({
    name,
    type: fc.constantFrom(...types),
    required: fc.boolean(),
    extra: fc.constantFrom(
      'none',
      'none',
      'none',
      'default',
      'unique',
      'check',
      'generated',
      'counter',
      'always',
      'broken',
    ),
  })
  return fc.record({
    name,
    kind: fc.constantFrom(...kinds),
    columns: fc.uniqueArray(column, { selector: (each) => each.name, minLength: 1, maxLength: 7 }),
    keySize: fc.constantFrom(0, 1, 1, 1, 1, 2, 3),
    /** The table that it refers to. */
    refers: fc.option(fc.nat(3)),
    /** Whether it refers to a unique column, if there is one. */
    toUnique: fc.boolean(),
    /** One more feature. */
    extra: fc.constantFrom(...extras),
    index: fc.constantFrom('none', ...(Object.keys(INDEXES) as (keyof typeof INDEXES)[])),
    rows: fc.array(fc.array(fc.nat(20), { minLength: 12, maxLength: 12 }), { minLength: 1, maxLength: 6 }),
  })
}

type Drawn = ReturnType<typeof tableOf> extends fc.Arbitrary<infer Value> ? Value : never
type DrawnColumn = Drawn['columns'][number]

interface Made {
  readonly name: string
  readonly columns: readonly DrawnColumn[]
  readonly key: readonly DrawnColumn[]
  readonly unique: DrawnColumn | undefined
}

const schemaOf = (
  prelude: readonly string[],
  table: ReturnType<typeof tableOf>,
  maxLength = 5,
): fc.Arbitrary<RandomSchema> =>
  fc
    .uniqueArray(table, { selector: (each) => each.name, minLength: 1, maxLength })
    .map((tables) => renderSchema(prelude, tables))

const EXTRAS = ['none', 'none', 'self', 'trigger', 'check', 'inherited', 'security']
const KINDS = ['table', 'table', 'table', 'table', 'view', 'materialized view', 'grouped view', 'partitioned']

/** Schemas with the features of real databases: names, types, keys, relations, views, partitions, indexes and checks. */
export const randomSchema = schemaOf(PRELUDE, tableOf(NAMES, TYPES, { kinds: KINDS, extras: EXTRAS }))

/** Schemas of tables that migrations can take over, with the types, rules and indexes that applications have. */
export const ordinarySchema = schemaOf(
  PRELUDE.filter((text) => / mood | keep\(/.test(text) && !text.includes('domain')),
  tableOf(ORDINARY_NAMES, ORDINARY_TYPES, {
    kinds: [...Array<string>(9).fill('table'), 'view'],
    extras: [
      ...EXTRAS.filter((each) => each !== 'inherited'),
      ...Array<string>(8).fill('none'),
      'check',
      'values',
      'values',
    ],
  }),
  3,
)

function renderSchema(prelude: readonly string[], tables: readonly Drawn[]): RandomSchema {
  const definitions = [...prelude]
  const rows: string[] = []
  const made: Made[] = []
  for (const drawn of tables) {
    const target = drawn.refers === null ? undefined : made[drawn.refers]
    const base = made[0]
    if (drawn.kind.includes('view') && base) definitions.push(renderView(drawn, base))
    else made.push(renderTable(drawn, target, definitions, rows))
  }
  return { definitions, rows }
}

function renderView({ name, kind }: Drawn, { name: from, columns }: Made): string {
  const [first] = columns
  const column = identifier(first?.name ?? '')
  const select =
    kind === 'grouped view'
      ? `select max(${column}::text) as "Most", count(*) as n from ${identifier(from)} group by ${column}::text`
      : `select * from ${identifier(from)}`
  return `create ${kind.replace('grouped ', '')} ${identifier(name)} as ${select}`
}

function renderTable(drawn: Drawn, target: Made | undefined, definitions: string[], rows: string[]): Made {
  const { name, columns: own, keySize, kind, index } = drawn
  const table = identifier(name)
  const taken = new Set(own.map((each) => each.name))
  const referred = drawn.toUnique && target?.unique ? [target.unique] : (target?.key ?? [])
  const reference = referred.map((part, at): DrawnColumn => {
    const wish = [`${part.name}_ref`.slice(0, 60), `ref ${at}`].find((each) => !taken.has(each)) ?? `ref${at}`
    return { name: wish, type: part.type, required: false, extra: 'none' }
  })
  const columns = [...own, ...reference]
  const key = own.filter((each) => each.type.key === true && each.extra !== 'generated').slice(0, keySize)
  const isPartitioned = kind === 'partitioned' && key.length > 0
  const parts = [
    ...columns.map((each) => `${identifier(each.name)} ${renderColumn(each, key.includes(each))}`),
    ...(key.length === 0 ? [] : [`primary key (${listOf(key)})`]),
    ...(isPartitioned ? [] : own.flatMap((each) => constraintsOf(each, key))),
    ...(reference.length === 0 || !target
      ? []
      : [`foreign key (${listOf(reference)}) references ${identifier(target.name)} (${listOf(referred)})`]),
    ...(drawn.extra === 'self' && key[0] && key.length === 1
      ? [`"the same" ${key[0].type.sql} references ${table} on delete set null`]
      : []),
    ...(drawn.extra === 'values' &&
    own[0]?.type.values[0] !== undefined &&
    own[0].extra !== 'generated' &&
    /^(?:mood|text|varchar.*|integer)$/.test(own[0].type.sql)
      ? [
          `constraint "by hand" check (${identifier(own[0].name)} <> ${own[0].type.values[0]} or num_nulls(${listOf(columns)}) < 3)`,
        ]
      : []),
    ...(drawn.extra === 'check' && !isPartitioned ? [`check (num_nulls(${listOf(columns)}) < 100)`] : []),
  ]
  definitions.push(
    `create table ${table} (${parts.join(', ')})${isPartitioned ? ` partition by hash (${identifier(key[0]?.name ?? '')})` : ''}`,
  )
  if (isPartitioned)
    for (const part of [0, 1])
      definitions.push(
        `create table ${identifier(`${name.slice(0, 50)} part ${part}`)} partition of ${table} for values with (modulus 2, remainder ${part})`,
      )
  if (drawn.extra === 'trigger')
    definitions.push(`create trigger t after insert or update on ${table} for each row execute function keep()`)
  if (drawn.extra === 'security') definitions.push(`alter table ${table} enable row level security`)
  if (drawn.extra === 'inherited' && !isPartitioned)
    definitions.push(`create table ${identifier(`${name.slice(0, 50)} child`)} (more text) inherits (${table})`)
  const indexed = own.find((each) => each.type.key)
  if (indexed && index !== 'none' && !isPartitioned)
    definitions.push(
      INDEXES[index](
        table,
        identifier(indexed.name),
        indexed.extra === 'generated' ? "'x'" : (indexed.type.values[0] ?? 'null'),
      ),
    )
  const written = columns.filter(({ extra }) => !['generated', 'always', 'counter'].includes(extra))
  for (const draw of drawn.rows) {
    const values = written.map((each, at) => valueOf(each, draw[at] ?? 0, key.includes(each)))
    rows.push(
      written.length === 0
        ? `insert into ${table} default values`
        : `insert into ${table} (${listOf(written)}) values (${values.join(', ')})`,
    )
  }
  const isUnique = (each: DrawnColumn) => constraintsOf(each, key).some((part) => part.startsWith('unique'))
  return { name, columns, key, unique: isPartitioned ? undefined : own.find(isUnique) }
}

function renderColumn({ type, required, extra, name }: DrawnColumn, isKey: boolean): string {
  const isCount = isCounted(type)
  if (extra === 'generated' && !isKey) return `text generated always as (${literal(name)} || 'x') stored`
  const parts = [type.sql]
  if (extra === 'counter' && isCount) parts.push('generated by default as identity')
  else if (extra === 'always' && isCount) parts.push('generated always as identity')
  else if (extra === 'broken' && isCount) parts.push('default 0')
  else if (extra === 'default' && type.defaults) parts.push(`default ${type.defaults[0]}`)
  if (required) parts.push('not null')
  return parts.join(' ')
}

function constraintsOf({ name, type, extra }: DrawnColumn, key: readonly DrawnColumn[]): readonly string[] {
  const column = identifier(name)
  if (extra === 'generated' && !key.some((each) => each.name === name)) return []
  if (extra === 'unique' && type.key && !key.some((each) => each.name === name)) return [`unique (${column})`]
  // The default breaks it.
  if (extra === 'broken' && isCounted(type)) return [`check (${column} > 0)`]
  const rules = [
    ...(type.rule ? [type.rule(column)] : []),
    ...(extra === 'check' && type.check ? [type.check(column)] : []),
  ]
  return rules.map((rule) => `check (${rule})`)
}

const isCounted = ({ sql }: ColumnType): boolean => ['smallint', 'integer', 'bigint'].includes(sql)

/** Texts that no path names: an empty one, no bytes, and two dots, which clients take for the folder above. */
const UNNAMED = /^(?:'(?:|\.\.)'|E'\\\\x')::/

function valueOf({ type, required, extra }: DrawnColumn, draw: number, isKey: boolean): string {
  if (draw >= 16 && !isKey && !required) return 'null'
  // Without a primary key, a unique column becomes the key of the model.
  const values = isKey || extra === 'unique' ? type.values.filter((value) => !UNNAMED.test(value)) : type.values
  return values[draw % values.length] ?? 'null'
}

function listOf(columns: readonly DrawnColumn[]): string {
  return columns.map((each) => identifier(each.name)).join(', ')
}
