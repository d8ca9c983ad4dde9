import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  given:
    table: given
    fields: { n: { type: bigint, primary_key: true, key: client }, c0: { type: string, max: 9 } }
  reading:
    primary_key: none
    fields: { place: { type: string, max: 9 }, code: { type: string, max: 9, unique: true } }
  event:
    primary_key: none
    fields: { kind: { type: string, max: 9 } }
  old:
    fields: { id: { type: bigint, primary_key: true, key: client }, note: { type: string, max: 9 } }
resources:
  old: { model: given, path: /old/, idempotency: optional }
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
})
afterAll(() => shelves.remove())

const seed = async (text: string, ...options: readonly string[]) => {
  await shelves.project.write('data.yaml', text)
  return shelves.run('seed', 'data.yaml', ...options)
}

test('seed writes to tables and columns of any name', async () => {
  for (const counts of ['created 2, updated 0, unchanged 0', 'created 0, updated 0, unchanged 2'])
    expect(await seed('given:\n  - { n: 1, c0: a }\n  - { n: 2, c0: b }\n')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(counts),
    })
})

test('records of a table without a key are found by a unique field, or rejected', async () => {
  const rejected = await seed('reading:\n  - { place: A, code: x }\n')
  expect([rejected.code, rejected.stderr + rejected.stdout]).toEqual([
    1,
    expect.stringContaining(
      'reading has no primary key that identifies existing records; name unique fields under `key` in the file, or by --key: code',
    ),
  ])
  expect(await seed('reading:\n  key: code\n  records:\n    - { place: A, code: x }\n')).toMatchObject({ code: 0 })
  for (const [text, reason] of [
    ['event:\n  - { kind: x }\n', 'event has no primary key that identifies existing records'],
    ['event:\n  key: kind\n  records:\n    - { kind: x }\n', 'several records may have the same kind'],
  ] as const) {
    const hopeless = await seed(text)
    expect([hopeless.code, hopeless.stderr + hopeless.stdout]).toEqual([
      1,
      expect.stringContaining(`${reason}; event has no unique fields, so nothing can be seeded`),
    ])
  }
})

test('the tables of the service itself are not proposed', async () => {
  const { stderr } = await seed('nothing:\n  - { id: 7 }\n')
  expect(stderr).toContain('known: `old`, `given`, `reading`, `event`')
  expect(stderr).not.toContain('snippetctl_answers')
})

test('a model whose name another resource has is named with `model:`', async () => {
  expect(await seed('model:old:\n  - { id: 7, note: mine }\n')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('created 1'),
  })
  expect((await shelves.run('dump', 'model:old')).stdout).toBe('{"id":7,"note":"mine"}\n')
  await shelves.project.write('more.ndjson', '{"id":8,"note":"more"}\n')
  expect(await shelves.run('seed', 'more.ndjson', '--resource', 'model:old')).toMatchObject({ code: 0 })
  expect((await seed('model:od:\n  - { id: 7, note: mine }\n')).stderr).toContain(
    'no resource or model is named "model:od"',
  )
})
