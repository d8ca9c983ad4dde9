import { expect, test } from '@jest/globals'
import { testDatabaseKind } from '../../support/database.js'
import { openShelves } from '../../support/shelves.js'

// The embedded database ignores settings of databases.
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

const READ_ONLY = `-- up
do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$;
`

onServer('a read-only database is not migrated', async () => {
  const { project, run, remove } = await openShelves()
  await project.write('migrations/0002_read_only.sql', READ_ONLY)
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  await project.write('migrations/0003_more.sql', '-- up\ncreate table more ();\n')
  const { code, stderr } = await run('migrate', 'up')
  await remove()
  expect([code, stderr]).toEqual([
    2,
    'error: the database is read-only, so it cannot be migrated\n' +
      '  = help: Set DATABASE_URL to the primary if this is a standby; otherwise see whether default_transaction_read_only is on\n',
  ])
})
