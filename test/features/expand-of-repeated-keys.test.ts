import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { openTestDatabase } from '../support/database.js'

const YAML = `version: 1
database: { managed: false }
models:
  animal: { table: animals, fields: { id: { type: integer, primary_key: true, key: client }, name: { type: text } } }
  pet:
    table: pets
    fields: { id: { type: integer, primary_key: true, key: client }, animal: { type: belongs_to, model: animal, column: animal } }
resources:
  animal: { model: animal, path: /animals/ }
  pet: { model: pet, path: /pets/, expand: [animal] }
`
const DDL = `create table animals (id int primary key, name text not null); create table dogs () inherits (animals);
  create table pets (id int primary key, animal int not null);
  insert into animals values (1, 'a'), (2, 'b'); insert into dogs values (1, 'a'); insert into pets values (1, 1), (2, 2)`

test('a related record whose key an inheriting table repeats is expanded like others', async () => {
  const database = await openTestDatabase(DDL)
  const api = await startApi(YAML, { database })
  const response = await api.fetch('/api/pets/?expand=animal')
  expect([response.status, await response.json()]).toEqual([
    200,
    [
      { id: 1, animal: 1, expanded: { animal: { id: 1, name: 'a' } } },
      { id: 2, animal: 2, expanded: { animal: { id: 2, name: 'b' } } },
    ],
  ])
  await api.close()
  await database.close()
})
