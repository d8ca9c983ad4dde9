import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  street:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      name: { type: string, max: 9 }
      town: { type: string, max: 9 }
      gone: { type: boolean }
  slot:
    managed: false
    fields: { id: { type: integer, primary_key: true, key: client }, n: { type: integer, nullable: true } }
  meter:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      reading: { type: decimal, precision: 9, scale: 2 }
      low: { type: decimal, precision: 9, scale: 2 }
      high: { type: decimal, precision: 9, scale: 2 }
resources: {}
`

/** Tables that migrations of resources.yaml do not make. */
const BY_HAND = `-- up
create table street (id int primary key, name varchar(9) not null, town varchar(9) not null, gone boolean not null, unique (name, town));
create unique index on street (town) where not gone;
create table slot (id int primary key, n int, unique nulls not distinct (n));
insert into slot values (1, null);
create table meter (id int primary key, reading numeric not null unique, low numeric not null, high numeric not null, unique (low, high));
insert into meter values (1, 1.0, 2.0, 3.0);
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
  await shelves.project.write('migrations/0002_by_hand.sql', BY_HAND)
  expect(await shelves.run('migrate', 'up')).toMatchObject({ code: 0 })
})
afterAll(() => shelves.remove())

const seed = async (text: string, file = 'data.yaml'): Promise<string> => {
  await shelves.project.write(file, text)
  const { stdout, stderr } = await shelves.run('seed', file)
  return stdout + stderr
}

test('a record that has a unique value is only named if it is certain', async () => {
  const street = (id: number, name: string, town: string, gone = true) =>
    `  - { id: ${id}, name: "${name}", town: "${town}", gone: ${gone} }\n`
  const stored = [street(1, 'a, b', 'c'), street(2, 'a', 'b, c'), street(3, 'd', 'e', false), street(4, 'f', 'e')]
  expect(await seed(`street:\n${stored.join('')}`)).toContain('created 4')
  const rejected = async (row: string) =>
    (await seed(`street:\n${row}`)).split('\n').find((line) => line.includes('taken'))
  // The server names the same values, `a, b, c`, for both records.
  expect(await rejected(street(5, 'a', 'b, c'))).toContain('taken by another record (id 2)')
  // Whether the condition of the index holds is not known: 3 and 4 have the value.
  expect(await rejected(street(5, 'g', 'e', false))).toMatch(/: Town is taken by another record$/)
  expect(await rejected(street(4, 'f', 'e', false))).toContain('Town is taken by another record (id 3)')
})

test.each([
  { value: 'null', row: 'slot:\n  - { id: 2, n: null }', expected: 'N is taken by another record\n' },
  { value: 'null by default', row: 'slot:\n  - { id: 2 }', expected: 'N is taken by another record\n' },
  {
    value: 'spelled differently',
    row: 'meter:\n  - { id: 2, reading: "1.00", low: "5", high: "6" }',
    expected: 'Reading is taken by another record (id 1)\n',
  },
  {
    value: 'one of several, and spelled differently',
    row: 'meter:\n  - { id: 2, reading: "4", low: "2.00", high: "3" }',
    expected: 'The combination of Low and High is taken by another record (id 1)\n',
  },
])('a taken value that is $value is reported', async ({ row, expected }) => {
  expect(await seed(`${row}\n`)).toContain(expected)
})
