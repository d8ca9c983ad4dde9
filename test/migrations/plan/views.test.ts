import { beforeEach, describe, expect, test } from '@jest/globals'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { type CompletedMigration, migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import type { TestDatabase } from '../../support/database.js'
import { type Folder, makeFolder, openForEach } from '../../support/migrations.js'

interface Parts {
  readonly loan?: string
  readonly views?: string
}

const LOAN = 'days: { type: integer }, note: { type: text, nullable: true }'
/** The view that reads the other one stands first. */
const VIEWS = `
  busy:
    view: select member_id as id, loans from Loans_By_Member where loans > 1;
    fields: { id: { type: integer, primary_key: true }, loans: { type: bigint } }
  loans_by_member:
    view: |
      select member_id, count(*) as loans, sum(days) as days
      from loans group by member_id
    primary_key: [member]
    fields: { member: { type: belongs_to, model: member }, loans: { type: bigint }, days: { type: bigint } }`

const yamlOf = ({ loan = LOAN, views = VIEWS }: Parts = {}) => `version: 1
api: { prefix: "" }
models:
  member: { table: members, fields: { id: { type: integer, primary_key: true }, name: { type: string, max: 20 } } }
  loan:
    table: loans
    fields: { id: { type: bigint, primary_key: true }, member: { type: belongs_to, model: member }, ${loan} }
${views}
`
const RESOURCES = `
resources:
  member: { model: member, path: /members/ }
  report: { model: loans_by_member, path: /report/, read_only: true, filterable: { loans: [gte] }, orderable: [loans], expand: [member] }
  busy: { model: busy, path: /busy/, operations: [list] }
`

const databases = openForEach()
let database: TestDatabase
let folder: Folder
beforeEach(async () => {
  database = databases.database
  folder = await makeFolder()
})

const query = async (text: string) => (await database.query({ text, values: [] })).rows
const plan = (parts?: Parts) => planMigration(specOf(yamlOf(parts)), folder.path, databases.scratch)

/** The steps of a plan, which is applied. */
async function apply(parts?: Parts): Promise<readonly string[]> {
  const planned = await plan(parts)
  expect(planned.rejections).toEqual([])
  await writeMigration(planned, folder.path)
  await migrateUp(database, folder.path, { allows: () => true })
  expect(await plan(parts)).toMatchObject({ steps: [], rejections: [] })
  return planned.steps.map(({ change, subject }) => `${change} ${subject}`)
}

const fill = async () => {
  await query("insert into members (name) values ('Ada'), ('Bob')")
  await query('insert into loans (member_id, days) values (1, 5), (1, 6), (2, 7)')
}
const report = () => query('select member_id, loans, days from loans_by_member order by 1')

test('a report is a view and a resource, without code', async () => {
  expect(await apply()).toEqual(['add members', 'add loans', 'add loans_by_member', 'add busy'])
  await fill()
  const api = await startApi(yamlOf() + RESOURCES, { database })
  const get = async (path: string) => (await api.fetch(path)).json()
  expect(await get('/report/?ordering=-loans')).toEqual([
    { member: 1, loans: 2, days: 11 },
    { member: 2, loans: 1, days: 7 },
  ])
  expect(await get('/report/?loans__gte=2&expand=member')).toMatchObject([{ expanded: { member: { name: 'Ada' } } }])
  expect(await get('/report/2/')).toEqual({ member: 2, loans: 1, days: 7 })
  expect(await get('/busy/')).toEqual([{ id: 1, loans: 2 }])
  expect((await api.send('POST', '/report/', {})).status).toBe(405)
  await api.close()
})

test('a changed query replaces the view in place, and `down` brings the former one back', async () => {
  await apply()
  await fill()
  const views = VIEWS.replace('group by member_id', 'where days > 5 group by member_id')
  expect(await apply({ views })).toEqual(['change loans_by_member'])
  expect(await report()).toEqual([
    ['1', '1', '6'],
    ['2', '1', '7'],
  ])
  await migrateDown(database, folder.path, { allows: () => true })
  expect(await report()).toEqual([
    ['1', '2', '11'],
    ['2', '1', '7'],
  ])
})

test('a changed column recreates the view and the views that read it', async () => {
  await apply()
  const views = VIEWS.replace('sum(days) as days', 'sum(days) as days, max(days) as most').replace(
    'days: { type: bigint }',
    'days: { type: bigint }, most: { type: integer }',
  )
  expect(await apply({ views })).toEqual(['drop busy', 'drop loans_by_member', 'add loans_by_member', 'add busy'])
})

test('a view does not stand in the way of a column that changes, goes or is renamed', async () => {
  await apply()
  await fill()
  const again = ['drop busy', 'drop loans_by_member', 'add loans_by_member', 'add busy']
  const wide = { loan: LOAN.replace('integer', 'bigint'), views: VIEWS.replace('sum(days)', 'sum(days)::bigint') }
  expect(await apply(wide)).toEqual([...again.slice(0, 2), 'change loans.days', ...again.slice(2)])
  expect(await report()).toEqual([
    ['1', '2', '11'],
    ['2', '1', '7'],
  ])
  const renamed = {
    loan: wide.loan.replace('days: { type: bigint }', 'length: { type: bigint, renamed_from: days }'),
    views: wide.views.replace('sum(days)', 'sum(length)'),
  }
  expect(await apply(renamed)).toEqual(['rename loans.length'])
  const gone = {
    loan: renamed.loan.replace('length: { type: bigint, renamed_from: days }, ', ''),
    views: renamed.views.replace('sum(length)::bigint', 'max(id)'),
  }
  expect(await apply(gone)).toEqual([...again.slice(0, 2), 'drop loans.length', ...again.slice(2)])
  await migrateDown(database, folder.path, { allows: () => true })
  expect(await query('select loans from loans_by_member order by 1')).toEqual([['1'], ['2']])
})

describe('a plan keeps what hand-written migrations did to a view', () => {
  const ALTERED = `-- up
alter view loans_by_member set (security_barrier = true);
alter view busy set (check_option = local);
grant select, update on loans_by_member to public;
grant select (days), insert (days, member_id) on loans_by_member to pg_monitor with grant option;
grant all on busy to pg_monitor;
comment on view loans_by_member is 'It''s a \\ report';
comment on column loans_by_member.days is 'Days';
alter view busy alter column loans set default 7;
create rule never as on delete to loans_by_member do instead nothing;
create function skip() returns trigger language plpgsql as 'begin return null; end';
create trigger skipped instead of insert on loans_by_member for each row execute function skip();
comment on view busy is 'Busy';
-- down
`
  const STATE = `select c.oid::regclass, c.reloptions, (select array_agg(a.attacl::text order by a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0),
      (select array_agg(acl::text order by acl::text) from unnest(c.relacl) acl), obj_description(c.oid), (select array_agg(definition) from pg_rules where tablename = c.relname),
      (select array_agg(pg_get_triggerdef(t.oid)) from pg_trigger t where t.tgrelid = c.oid),
      (select array_agg(concat(col_description(c.oid, a.attnum), pg_get_expr(d.adbin, c.oid)) order by a.attname) from pg_attribute a left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum where a.attrelid = c.oid and a.attnum > 0)
    from pg_class c where c.relkind = 'v' and c.relnamespace = 'public'::regnamespace order by c.relname`
  /** Both views are over one table, so that they can have every option. */
  const simple = VIEWS.replace('count(*) as loans', 'id as loans')
    .replace('sum(days) as days', 'days::bigint')
    .replace('group by member_id', '')
  let altered: Awaited<ReturnType<typeof query>>
  beforeEach(async () => {
    await apply({ views: simple })
    await folder.write('0002_altered.sql', ALTERED)
    await migrateUp(database, folder.path)
    altered = await query(STATE)
    expect(JSON.stringify(altered)).toContain('pg_monitor')
  })

  test.each([
    ['the query changes', { views: simple.replace('from loans ', 'from loans where days > 0') }, 'change'],
    ['a column changes', { views: simple, loan: LOAN.replace('integer', 'bigint') }, 'drop'],
    [
      'a column changes and another is renamed',
      {
        views: simple
          .replace('days::bigint', 'length::bigint as days')
          .replace('from loans ', 'from loans where note is null'),
        loan: 'length: { type: bigint, renamed_from: days }, note: { type: text, nullable: true }',
      },
      'drop',
    ],
  ])('if %s', async (_what, parts, change) => {
    const { steps } = await plan(parts)
    expect(steps.filter(({ subject }) => subject === 'loans_by_member')).toMatchObject([
      { change, safety: 'safe' },
      ...(change === 'drop' ? [{ change: 'add', safety: 'safe' }] : []),
    ])
    await apply(parts)
    expect(await query(STATE)).toEqual(altered)
    await migrateDown(database, folder.path, { allows: () => true })
    expect(await query(STATE)).toEqual(altered)
  })

  test('where others have default privileges, and options that a new view could not have', async () => {
    await folder.write(
      '0003_defaults.sql',
      `-- up
alter default privileges grant select on tables to pg_monitor;
create view sums as select max(id) as id from loans;
create view positive as select * from sums where id > 0 with local check option;
-- down
drop view positive;
drop view sums;
`,
    )
    await migrateUp(database, folder.path)
    altered = await query(STATE)
    const { steps } = await plan({ views: simple, loan: LOAN.replace('integer', 'bigint') })
    expect(steps.flatMap(({ up }) => up).filter((sql) => /^grant .* on busy /.test(sql))).toEqual([
      'grant all on busy to pg_monitor',
    ])
    // Default privileges belong to no schema, so they would remain in the database, which later tests reuse.
    await query('alter default privileges revoke select on tables from pg_monitor')
  })

  test('and names an option that its new query cannot have', async () => {
    const parts = { views: simple.replace('where loans > 1', 'where loans > 1 limit 5') }
    const { steps } = await plan(parts)
    expect(steps).toMatchObject([{ subject: 'busy', safety: 'risky', risk: 'the view loses: check_option=local' }])
    await apply(parts)
    await migrateDown(database, folder.path, { allows: () => true })
    expect(await query(STATE)).toEqual(altered)
  })

  test('and names what does not fit its new columns', async () => {
    const parts = {
      views: simple
        .replace('days::bigint', 'days::bigint as sum')
        .replace('days: { type: bigint }', 'sum: { type: bigint }'),
    }
    const { steps } = await plan(parts)
    expect(steps.filter(({ change }) => change === 'add')).toMatchObject([
      {
        subject: 'loans_by_member',
        safety: 'risky',
        risk: 'the view loses: grant insert (days), select (days) to pg_monitor with grant option; comment on days; rule never; trigger skipped',
      },
      { subject: 'busy', safety: 'safe' },
    ])
    await apply(parts)
    await migrateDown(database, folder.path, { allows: () => true })
    expect(await query(STATE)).toEqual(altered)
  })
})

const viewByHand = (kind: string) => ({
  kind,
  make: `create ${kind} by_hand as select id, days from loans`,
  drop: `drop ${kind} by_hand`,
  error: `rule _RETURN on ${kind} by_hand depends on column "days"`,
})

test.each([
  viewByHand('view'),
  viewByHand('materialized view'),
  {
    kind: 'generated column',
    make: 'alter table loans add by_hand integer generated always as (days + 1) stored',
    drop: 'alter table loans drop by_hand',
    error: 'Column "days" is used by generated column "by_hand"',
  },
])('a plan names a $kind by hand that is in the way, and how to go on', async ({ make, drop, error }) => {
  await apply()
  await folder.write('0002_by_hand.sql', `-- up\n${make};\n-- down\n${drop};\n`)
  const views = VIEWS.replace('sum(days)', 'sum(days)::bigint')
  const parts = { views, loan: LOAN.replace('integer', 'bigint') }
  await expect(plan(parts)).rejects.toMatchObject({
    errors: [expect.stringContaining(error)],
    help: [expect.stringMatching(/^A migration of your own has made this object: write one that drops it, plan again/)],
  })
  await folder.write('0003_without.sql', `-- up\n${drop};\n-- down\n${make};\n`)
  await apply(parts)
  await folder.write('0005_by_hand.sql', `-- up\n${make};\n-- down\n${drop};\n`)
  await migrateUp(database, folder.path)
  expect(await plan(parts)).toMatchObject({ steps: [], rejections: [] })
})

describe('the migrator reports what only the database had of a recreated view, and does not restore it', () => {
  const STATE = `select c.relacl::text, obj_description(c.oid), (select array_agg(definition) from pg_rules where tablename = c.relname)
    from pg_class c where c.oid = 'loans_by_member'::regclass`
  const cast = VIEWS.replace('sum(days)', 'sum(days)::bigint')
  const wide = LOAN.replace('integer', 'bigint')
  const options = { allows: () => true }
  const BY_HAND = [
    'grant select on loans_by_member to pg_monitor with grant option',
    "comment on view loans_by_member is 'made by hand'",
    'create rule never as on delete to loans_by_member do instead nothing',
    "comment on rule never on loans_by_member is 'to be safe'",
  ]
  /** The parts made by hand as the migrator reports them, with the words before the statements. */
  const sentences = (help = 'to restore it', { rule = help, lost = 'has lost' } = {}) => [
    `the view loans_by_member ${lost} the grant of select to pg_monitor with grant option; ${help}: grant select on loans_by_member to pg_monitor with grant option`,
    `the view loans_by_member ${lost} the comment; ${help}: comment on view loans_by_member is 'made by hand'`,
    expect.stringMatching(`^the view loans_by_member ${lost} the rule never; ${rule}: CREATE RULE never AS`),
    `the view loans_by_member ${lost} the comment on rule never; ${rule}: comment on rule never on loans_by_member is 'to be safe'`,
  ]
  const messages = (done: readonly CompletedMigration[]) =>
    done.flatMap(({ lost }) => lost.map(({ message }) => message))
  let before: Awaited<ReturnType<typeof query>>
  beforeEach(async () => {
    await apply({ views: cast })
    for (const text of BY_HAND) await query(text)
    before = await query(STATE)
  })

  test('in both directions, with statements that restore it', async () => {
    await writeMigration(await plan({ views: cast, loan: wide }), folder.path)
    const done = await migrateUp(database, folder.path, options)
    expect(messages(done)).toEqual(sentences())
    expect(await query(STATE)).toEqual([[null, null, null]])
    for (const { sql } of done.flatMap(({ lost }) => lost)) await query(sql)
    expect(await query(STATE)).toEqual(before)
    expect(messages(await migrateDown(database, folder.path, options))).toEqual(sentences())
  })

  test('and the owner and options first, because rules act with the rights of the owner', async () => {
    await query('alter view loans_by_member owner to pg_database_owner')
    await query('alter view loans_by_member set (security_barrier=true)')
    before = await query(STATE)
    await writeMigration(await plan({ views: cast, loan: wide }), folder.path)
    const done = await migrateUp(database, folder.path, options)
    expect(messages(done)).toEqual([
      'the view loans_by_member has lost the owner pg_database_owner; to restore it: alter view loans_by_member owner to pg_database_owner',
      'the view loans_by_member has lost the option security_barrier; to restore it: alter view loans_by_member set (security_barrier=true)',
      ...sentences(),
    ])
    for (const { sql } of done.flatMap(({ lost }) => lost)) await query(sql)
    expect(await query(STATE)).toEqual(before)
  })

  test('and a comment that the files give it with other words', async () => {
    await folder.write('0002_comment.sql', "-- up\ncomment on view loans_by_member is 'of the files';\n")
    await migrateUp(database, folder.path)
    await query("comment on view loans_by_member is 'made by hand'")
    await writeMigration(await plan({ views: cast, loan: wide }), folder.path)
    const [grant, , ...rules] = sentences()
    expect(messages(await migrateUp(database, folder.path, options))).toEqual([
      grant,
      "the view loans_by_member has another comment; it was: comment on view loans_by_member is 'made by hand'",
      ...rules,
    ])
  })

  test('and which statements do not fit its new columns', async () => {
    const views = cast.replace(' as days', ' as sum').replace('days: { type: b', 'sum: { type: b')
    await writeMigration(await plan({ views }), folder.path)
    expect(messages(await migrateUp(database, folder.path, options))).toEqual(
      sentences('to restore it', { rule: 'it was' }),
    )
  })

  test('also if it gets another name', async () => {
    const views = cast.replaceAll('loans_by_member', 'sums').replaceAll('Loans_By_Member', 'sums')
    await writeMigration(await plan({ views }), folder.path)
    expect(messages(await migrateUp(database, folder.path, options))).toEqual(
      sentences('it was', { lost: 'was dropped with' }),
    )
  })

  test('also if a migration by hand drops it and creates it again', async () => {
    const [[text = ''] = []] = await query("select pg_get_viewdef('loans_by_member')")
    const statements = `drop view busy;\nDROP VIEW Loans_By_Member;\ncreate view loans_by_member as ${text}\n`
    await folder.write('0002_again.sql', `-- up\n${statements}`)
    expect(messages(await migrateUp(database, folder.path))).toEqual(sentences())
  })

  test('but not a grant that the file removes on purpose', async () => {
    await folder.write('0002_grant.sql', '-- up\ngrant select on busy to pg_monitor;\n')
    await migrateUp(database, folder.path)
    const { text = '' } = await plan({ views: cast, loan: wide })
    const grant = 'grant select on busy to pg_monitor'
    expect(text.split(grant)).toHaveLength(3)
    await folder.write('0003_wide.sql', text.replace(grant, 'revoke all on busy from pg_monitor'))
    expect(messages(await migrateUp(database, folder.path, options))).toEqual(sentences())
    expect(await query("select relacl::text from pg_class where oid = 'busy'::regclass")).not.toEqual([
      [expect.stringContaining('pg_monitor')],
    ])
  })
})

test('`down` restores a view over a column that is renamed and gets another type', async () => {
  await apply()
  await fill()
  await apply({
    loan: LOAN.replace('days: { type: integer }', 'length: { type: bigint, renamed_from: days }'),
    views: VIEWS.replace('sum(days)', 'sum(length)::bigint'),
  })
  await migrateDown(database, folder.path, { allows: () => true })
  expect(await report()).toEqual([
    ['1', '2', '11'],
    ['2', '1', '7'],
  ])
})

test('a query may end with a comment', async () => {
  const views = VIEWS.replace('group by member_id', 'group by member_id -- all of them')
  expect(await apply({ views })).toEqual(['add members', 'add loans', 'add loans_by_member', 'add busy'])
})

test('a query may contain the name of a view as another word', async () => {
  const views = `
  totals:
    view: select days, count(*) as stats from loans group by days
    primary_key: [days]
    fields: { days: { type: integer }, stats: { type: bigint } }
  stats:
    view: select 1 as id, sum(stats)::bigint as total from totals
    fields: { id: { type: integer, primary_key: true }, total: { type: bigint } }`
  expect(await apply({ views })).toEqual(['add members', 'add loans', 'add totals', 'add stats'])
  const wide = LOAN.replace('integer', 'bigint')
  expect(await apply({ views: views.replace('type: integer', 'type: bigint'), loan: wide })).toEqual([
    'drop stats',
    'drop totals',
    'change loans.days',
    'add totals',
    'add stats',
  ])
})

describe('the columns of `*` have the order of the table', () => {
  const EVERYTHING = `
  everything:
    view: select * from loans
    fields: { id: { type: bigint, primary_key: true }, days: { type: integer } }`

  test('whatever the order of the fields', async () => {
    await apply({ views: EVERYTHING })
    const loan = 'note: { type: text, nullable: true }, days: { type: integer }'
    expect(await plan({ views: EVERYTHING, loan })).toMatchObject({ steps: [], rejections: [] })
  })

  test('with a new column at the end', async () => {
    await apply({ views: EVERYTHING })
    const loan = `kind: { type: integer, nullable: true }, ${LOAN}`
    expect(await apply({ views: EVERYTHING, loan })).toEqual(['drop everything', 'add loans.kind', 'add everything'])
  })
})

test('a view whose model is gone is dropped; views that no migration created are left alone', async () => {
  await folder.write(
    '0001_by_hand.sql',
    '-- up\ncreate table t (a integer);\ncreate view v as select a from t;\n-- down\n',
  )
  await apply()
  await folder.write('0003_more.sql', '-- up\ncreate view w as select id from members;\n-- down\ndrop view w;\n')
  expect(await apply({ views: '' })).toEqual(['drop busy', 'drop loans_by_member'])
  expect(
    await query(
      "select relname from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace order by 1",
    ),
  ).toEqual([['v'], ['w']])
})

describe('a plan is rejected', () => {
  test.each([
    [
      'a query with a mistake',
      'select nobody from loans',
      'PostgreSQL rejects the view of the model `loans_by_member`: column "nobody" does not exist',
    ],
    ['several statements', 'select 1; drop table loans', 'must be one query, without a semicolon within'],
    [
      'a column that is missing',
      'select id as member_id, id as loans from loans',
      'column loans_by_member.days is missing',
    ],
    [
      'a column of another type',
      "select member_id, 1::bigint as loans, 'x'::text as days from loans",
      'column loans_by_member.days is text and should be bigint',
    ],
  ])('for %s', async (_what, view, message) => {
    const views = VIEWS.replace(/view: \|\n.*\n.*\n/, `view: ${JSON.stringify(view)}\n`).replace(
      / {2}busy:\n.*\n.*\n/,
      '',
    )
    await expect(plan({ views })).rejects.toThrow(message)
  })

  test('with the hint of PostgreSQL', async () => {
    await expect(
      plan({ views: VIEWS.replace('select member_id, count', 'select member_i, count') }),
    ).rejects.toMatchObject({
      help: ['Perhaps you meant to reference the column "loans.member_id".'],
    })
  })
})

test.each([
  [
    'indexes',
    '{ view: select 1 as id, indexes: [[id]], fields: { id: { type: integer, primary_key: true } } }',
    '',
    'cannot have both `view` and `indexes`',
  ],
  [
    '`managed: false`',
    '{ view: select 1 as id, managed: false, fields: { id: { type: integer, primary_key: true } } }',
    '',
    'migrations create the view `a`, and `managed` is false',
  ],
  [
    'a resource that does not say its operations',
    '{ view: select 1 as id, fields: { id: { type: integer, primary_key: true } } }',
    'resources: { a: { model: a, path: /a/ } }\n',
    '`a` is a view, so the resource `a` must say which operations it has',
  ],
])('%s of a view is reported', (_what, model, resources, message) => {
  expect(() => specOf(`version: 1\nmodels:\n  a: ${model}\n${resources}`)).toThrow(message)
})
