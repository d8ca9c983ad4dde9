import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const file = (choices: string) => `version: 1
models:
  day:
    table: days
    fields:
      id: { type: bigint, primary_key: true }
      mood: { type: choice, choices: [${choices}] }
`

const project = projectPerTest({
  'resources.yaml': file('sad, ok'),
  'migrations/0001_days.sql': `-- up
create type mood as enum ('sad', 'ok');
create table days (id bigint generated always as identity primary key, mood mood not null);
`,
})

test('an added value is kept by a migration and by the choices of its field', async () => {
  await project.run('migrate', 'up')
  await project.sql("alter type mood add value 'good'")
  const { stdout, stderr } = await project.run('migrate', 'status')
  const [, statement = ''] =
    /= help: keep it: write a migration with `(.*)`, and add the value to the `choices` of its fields\n/.exec(
      stdout + stderr,
    ) ?? []
  await project.write('migrations/0002_good.sql', `-- up\n${statement};\n`)
  await project.write('resources.yaml', file('sad, ok, good'))
  expect(await project.run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await project.run('migrate', 'status')).toMatchObject({ code: 0 })
  expect((await project.run('migrate', 'plan')).stdout).toContain('nothing to migrate')
})
