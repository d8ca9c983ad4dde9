import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  delivery:
    fields: { id: { type: bigint, primary_key: true }, room: { type: string, max: 9 }, number: { type: integer } }
    relations: { shelf: { model: shelf, fields: [room, number] } }
  shelf:
    primary_key: [room, number]
    fields:
      room: { type: string, max: 9 }
      number: { type: integer }
      beside: { type: integer, nullable: true }
    relations: { neighbour: { model: shelf, fields: [room, beside] } }
resources: {}
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
})
afterAll(() => shelves.remove())

test('seed writes records that refer to others over several fields, in any order of the file, and dump reads them', async () => {
  await shelves.project.write(
    'all.yaml',
    `delivery:\n  - { id: 1, room: A, number: 2 }\nshelf:\n  - { room: A, number: 1, beside: 2 }\n  - { room: A, number: 2 }\n`,
  )
  expect(await shelves.run('seed', 'all.yaml')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('created 3, updated 0, unchanged 0'),
  })
  expect((await shelves.run('dump', 'delivery')).stdout).toBe('{"id":1,"room":"A","number":2}\n')
  await shelves.project.write('wrong.yaml', 'delivery:\n  - { id: 2, room: B, number: 2 }\n')
  const rejected = await shelves.run('seed', 'wrong.yaml')
  expect([rejected.code, rejected.stdout + rejected.stderr]).toEqual([
    1,
    expect.stringContaining('The combination of Room and Number names a record that does not exist'),
  ])
})
