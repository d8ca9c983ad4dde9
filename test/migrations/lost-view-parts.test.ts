import { beforeEach, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, startServe } from '../support/cli.js'
import { projectPerTest } from '../support/project-per-test.js'

const VIEW = 'create view titles as select title from books;'
const LOST =
  'the view titles has lost the grant of select to pg_monitor; to restore it: grant select on titles to pg_monitor'

const project = projectPerTest({
  'resources.yaml': BOOKS,
  [BOOKS_MIGRATION_FILE]: `${BOOKS_MIGRATION.split('-- down')[0]}${VIEW}\n`,
})

beforeEach(async () => {
  expect(await project.run('migrate', 'up')).toMatchObject({ code: 0 })
  await project.sql('grant select on titles to pg_monitor')
  await project.write('migrations/0002_again.sql', `-- up\ndrop view titles;\n${VIEW}\n`)
})

test('`migrate up` prints what only the database had of a recreated view', async () => {
  const { code, stderr } = await project.run('migrate', 'up')
  expect(code).toBe(0)
  expect(stderr).toContain(`  ! ${LOST}\n`)
})

test('`migrate up` prints the privileges that default privileges give again to a recreated view', async () => {
  const defaults = 'alter default privileges grant select, insert on tables to pg_monitor'
  await project.sql(defaults)
  await project.sql('grant insert on titles to pg_monitor; revoke select on titles from pg_monitor')
  const { code, stderr } = await project.run('migrate', 'up')
  expect(code).toBe(0)
  expect(stderr.match(/^ {2}! .*$/gm)).toEqual([
    '  ! the view titles has the grant of select to pg_monitor again, by default privileges; to revoke it: revoke select on "titles" from pg_monitor',
  ])
})

test('`migrate up` prints no privileges that the file revokes again, nor those of the former owner, and one statement for each role', async () => {
  await project.sql(`revoke all on titles from pg_monitor; grant create on schema public to pg_read_all_stats; alter view titles owner to pg_read_all_stats;
    alter default privileges grant select, insert, update on tables to pg_monitor, pg_read_all_stats, pg_read_all_settings`)
  await project.write(
    'migrations/0002_again.sql',
    `-- up\ndrop view titles;\n${VIEW}\nrevoke insert on titles from pg_monitor;\nrevoke all on titles from pg_read_all_settings;\n`,
  )
  const { stderr } = await project.run('migrate', 'up')
  expect(stderr.match(/^ {2}! .*again, by default.*$/gm)).toEqual([
    '  ! the view titles has the grant of select, update to pg_monitor again, by default privileges; to revoke it: revoke select, update on "titles" from pg_monitor',
  ])
})

test('`serve --migrate` logs a warning of its own for it', async () => {
  const serving = await startServe(['--migrate'], await project.release())
  try {
    expect(await serving.logged('view_part_lost')).toMatchObject({
      level: 'warn',
      migration: '0002_again',
      view: 'titles',
      sql: 'grant select on titles to pg_monitor',
      msg: LOST,
    })
  } finally {
    await serving.stop('SIGKILL')
  }
})

test.each([
  { change: 'replaced', sql: 'create or replace view titles as select title from books where true;' },
  { change: 'recreated', sql: `drop view titles;\n${VIEW}` },
  {
    change: 'replaced, differently declared',
    sql: `create or replace view titles as select title from books where true;
create view titles2 as select title from books;
-- down
create or replace view titles2 with (security_barrier=true, check_option=local) as select title from titles;
create or replace view titles with (check_option=cascaded, security_barrier=false) as select title from books;`,
  },
  { change: 'indirectly dropped', sql: `do $$ begin execute 'drop view titles'; end $$;\n${VIEW}` },
])('`migrate up` prints the options that a $change view has lost', async ({ sql }) => {
  const set = 'alter view titles set (security_barrier=true, check_option=local)'
  await project.sql(set)
  await project.write('migrations/0002_again.sql', `-- up\n${sql}\n`)
  const { code, stderr } = await project.run('migrate', 'up')
  expect(code).toBe(0)
  for (const [name, option] of Object.entries({
    security_barrier: 'security_barrier=true',
    check_option: 'check_option=local',
  }))
    expect(stderr).toContain(
      `  ! the view titles has lost the option ${name}; to restore it: alter view titles set (${option})\n`,
    )
})

test('`migrate up` is silent about options that a file resets, and those that remain', async () => {
  const view = 'create or replace view titles with (check_option=local) as select title from books'
  await project.write(
    'migrations/0002_again.sql',
    `-- up\n${view.replace('local', 'cascaded')};\n-- down\n${view.replace('(', '(security_barrier=true, ')};\n`,
  )
  const set = 'alter view titles set (security_barrier=true, check_option=local)'
  await project.sql(set)
  expect(await project.run('migrate', 'up')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('lost'),
  })
})

test('`migrate up` creates a view next to one of a foreign table that nothing can read', async () => {
  const far = `create foreign data wrapper nowhere; create server far foreign data wrapper nowhere;
    create foreign table far_away (id int) server far; create view of_far_away as select id from far_away;`
  await project.sql(far)
  expect(await project.run('migrate', 'up')).toMatchObject({ code: 0 })
})

test('`migrate up` prints a comment on a column that a view without columns has lost', async () => {
  const comment = "comment on column titles.title is 'the title'"
  await project.sql(comment)
  await project.write(
    'migrations/0002_again.sql',
    '-- up\ndrop view titles;\ncreate view titles as select from books;\n',
  )
  expect(await project.run('migrate', 'up')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`  ! the view titles has lost the comment on title; it was: ${comment}\n`),
  })
})
