import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  slot:
    fields:
      id: { type: bigint, primary_key: true }
      place: { type: integer, unique: true }
      note: { type: string, max: 9 }
  seat:
    fields:
      id: { type: bigint, primary_key: true, key: client }
      beside: { type: belongs_to, model: seat, nullable: true }
  tag:
    managed: false
    fields:
      name: { type: string, max: 9, primary_key: true }
      note: { type: string, max: 9 }
  term:
    managed: false
    fields:
      name: { type: string, max: 9, primary_key: true }
      note: { type: string, max: 9 }
resources: {}
`

/** Constraints that resources.yaml cannot declare. */
const BY_HAND = `-- up
alter table slot drop constraint slot_place_key, add constraint slot_place_key unique (place) deferrable initially deferred;
alter table seat alter constraint seat_beside_id_fkey deferrable initially deferred;
create table tag (name varchar(9) primary key, note varchar(9) not null);
create table term (name varchar(9) primary key, note varchar(9) not null);
create table rare_term () inherits (term);
insert into rare_term values ('old', 'a');
`

const ANY_CASE = `-- up
create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
alter table tag alter name type varchar(9) collate any_case;
`

let shelves: Shelves
let isOnServer: boolean
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
  isOnServer = shelves.database !== undefined
  await shelves.project.write('migrations/0002_by_hand.sql', BY_HAND)
  // The embedded database has no collations of ICU.
  if (isOnServer) await shelves.project.write('migrations/0003_any_case.sql', ANY_CASE)
  expect(await shelves.run('migrate', 'up')).toMatchObject({ code: 0 })
})
afterAll(() => shelves.remove())

const seed = async (text: string): Promise<string> => {
  await shelves.project.write('data.yaml', text)
  const { stdout, stderr } = await shelves.run('seed', 'data.yaml')
  return stdout + stderr
}

test('records are found by a key that is checked at the end of the transaction', async () => {
  const slots = (...notes: readonly string[]) =>
    `slot:\n  key: place\n  records:\n${notes.map((note, place) => `    - { place: ${place}, note: ${note} }\n`).join('')}`
  expect(await seed(slots('a', 'b'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(slots('a', 'b'))).toContain('created 0, updated 0, unchanged 2')
  expect(await seed(slots('a', 'c', 'd'))).toContain('created 1, updated 1, unchanged 1')
  expect((await shelves.run('dump', 'slot')).stdout).toBe(
    '{"id":1,"place":0,"note":"a"}\n{"id":2,"place":1,"note":"c"}\n{"id":3,"place":2,"note":"d"}\n',
  )
})

test('records refer to later ones by a foreign key that is checked at the end of the transaction, and errors have a line', async () => {
  expect(await seed('seat:\n  - { id: 1, beside: 2 }\n  - { id: 2 }\n')).toContain('created 2, updated 0, unchanged 0')
  expect(await seed('seat:\n  - { id: 3 }\n  - { id: 4, beside: 9 }\n')).toContain(
    'data.yaml:3: beside: Beside names a record that does not exist',
  )
})

test('keys that are equal in their collation are reported as one record', async () => {
  const again = await seed('tag:\n  - { name: ada, note: a }\n  - { name: bob, note: b }\n  - { name: ADA, note: c }\n')
  expect(again).toContain(
    isOnServer
      ? 'data.yaml:4: this record appears in the file twice, or a trigger of an earlier one has written it; each record may appear only once'
      : 'created 3, updated 0, unchanged 0',
  )
  if (!isOnServer) return
  expect(await seed('tag:\n  - { name: ada, note: a }\n')).toContain('created 1, updated 0, unchanged 0')
  expect(await seed('tag:\n  - { name: ADA, note: c }\n')).toContain('created 0, updated 1, unchanged 0')
  expect((await shelves.run('dump', 'tag')).stdout).toBe('{"name":"ada","note":"c"}\n')
})

test('records in tables that inherit from the one of the model are found', async () => {
  const terms = 'term:\n  - { name: new, note: b }\n  - { name: old, note: c }\n'
  expect(await seed(terms)).toContain('created 1, updated 1, unchanged 0')
  expect(await seed(terms)).toContain('created 0, updated 0, unchanged 2')
  expect((await shelves.run('dump', 'term')).stdout).toBe('{"name":"new","note":"b"}\n{"name":"old","note":"c"}\n')
})
