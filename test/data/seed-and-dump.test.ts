import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { onProjectDatabase } from '../support/existing.js'
import { openShelves, type Shelves } from '../support/shelves.js'

let shelves: Shelves
let other: Shelves

beforeAll(async () => {
  shelves = await openShelves()
  other = await openShelves()
})

afterAll(async () => {
  await shelves.remove()
  await other.remove()
})

const seed = async (file: string, text: string, ...options: readonly string[]) => {
  await shelves.project.write(file, text)
  return shelves.run('seed', file, ...options)
}

const dumped = async (resource: string, from = shelves) => (await from.run('dump', resource)).stdout

const LIBRARY = `
book:
  key: isbn
  records:
    - { isbn: "1", title: "Down, \\"and\\" out", author: 2, price: "9.90", lent: true }
    - { isbn: "2", title: "", extra: { pages: [1, 2.50] }, token: 0190163D-8694-739B-AEA5-966C26F8AD91 }
author:
  - { id: 2, name: George, mentor: 1 }
  - { id: 1, name: Émile }
`

describe('seed', () => {
  test('loads a file in the order of its references, without duplicates', async () => {
    expect(await seed('library.yaml', LIBRARY, '--dry-run')).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining(
        'book: created 2, updated 0, unchanged 0\nauthor: created 2, updated 0, unchanged 0\n' +
          'created 4, updated 0, unchanged 0, but nothing was kept because of --dry-run\n',
      ),
    })
    expect(await dumped('book')).toBe('')
    expect(await seed('library.yaml', LIBRARY)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('\ncreated 4, updated 0, unchanged 0\n'),
    })
    const before = await dumped('book')
    expect(before.split('\n')).toHaveLength(3)
    expect(await seed('library.yaml', LIBRARY)).toMatchObject({
      stderr: expect.stringContaining('\ncreated 0, updated 0, unchanged 4\n'),
    })
    expect(await dumped('book')).toBe(before)
  })

  test('updates the statistics, from which counts are estimated', async () => {
    const text = `select relname, reltuples::int::text from pg_class where relname in ('authors', 'books') order by 1`
    const rows = await onProjectDatabase(shelves.project, shelves.database, (database) =>
      database.query({ text, values: [] }),
    )
    expect(rows.rows).toEqual([
      ['authors', '2'],
      ['books', '2'],
    ])
  })

  test('updates what differs, keeps omitted fields, and prints JSON', async () => {
    const changed = '{"isbn":"1","title":"Out"}\n\n{"isbn":"3","title":"New"}\n'
    const { code, stdout, stderr } = await seed('book.ndjson', changed, '--key', 'isbn', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      ok: true,
      dryRun: false,
      created: 1,
      updated: 1,
      unchanged: 0,
      resources: { book: { created: 1, updated: 1, unchanged: 0 } },
      errors: [],
      errorCount: 0,
    })
    const [first = ''] = (await dumped('book')).split('\n')
    expect(JSON.parse(first)).toMatchObject({ isbn: '1', title: 'Out', author: 2, price: '9.90', lent: true })
  })

  test('lets a record refer to a later one at any distance', async () => {
    const names = Array.from(
      { length: 700 },
      (_, index) => `{"id":${2000 + index},"name":"p${index}","mentor":${2699 - index}}\n`,
    )
    expect(await seed('author.ndjson', names.join(''))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('created 700, updated 0, unchanged 0\n'),
    })
    const lost = names.join('').replace('"mentor":2600', '"mentor":99')
    expect(await seed('author.ndjson', lost)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('author.ndjson:100: mentor: Mentor names a record that does not exist\n'),
    })
  })

  test('advances the sequence of the key, so that the next record gets a free key', async () => {
    const seeded = await seed('author.csv', 'id,name\r\n4100,Ida\r\n')
    expect(seeded.stderr).toContain('created 1, updated 0, unchanged 0\n')
    expect((await seed('next.json', '{"author":{"key":"name","records":[{"name":"Next"}]}}')).code).toBe(0)
    expect(await dumped('author')).toContain('{"id":4101,"name":"Next","mentor":null}\n')
  })

  let before: string | undefined

  test.each([
    {
      what: 'every violated rule, with its line and field',
      file: 'bad.yaml',
      text: 'author:\n  - { id: 7, name: "" }\n  - { id: 8, name: Eve, nmae: x }\n  - 9\n',
      says: [
        'bad.yaml:2: name: Name must be between 1 and 80 characters',
        'bad.yaml:3: nmae: `nmae` is not a field here; the fields are id, name, mentor',
        'bad.yaml:4: a record must be a mapping of fields to values',
        'nothing was written: bad.yaml has 3 errors',
      ],
    },
    {
      what: 'records that the database rejects, with their lines',
      file: 'author.ndjson',
      text: '{"id":70,"name":"Ok"}\n{"id":71,"name":"George"}\n{"id":72,"name":"Lost","mentor":999}\n',
      says: [
        'author.ndjson:2: name: Name is taken by another record',
        'author.ndjson:3: mentor: Mentor names a record that does not exist',
      ],
    },
    {
      what: 'a duplicate record',
      file: 'author.json',
      text: '{"author": [\n {"id": 80, "name": "A"},\n {"id": 80, "name": "B"}\n]}',
      says: ['author.json:3: `id` is the same as in line 2; each record may appear only once'],
    },
    {
      what: 'a duplicate record far from the first',
      file: 'author.csv',
      text: `id,name\n${Array.from({ length: 600 }, (_, index) => `${1000 + (index % 599)},n${index}\n`).join('')}`,
      says: [
        'author.csv:601: this record appears in the file twice, or a trigger of an earlier one has written it; each record may appear only once',
      ],
    },
    {
      what: 'a record without its key',
      file: 'author.jsonl',
      text: '{"name":"No key"}',
      says: ['author.jsonl:1: id: Id identifies existing records and is required'],
    },
    {
      what: 'a key that is not unique',
      file: 'unkeyed.yaml',
      text: 'resource: book\nkey: title\nrecords:\n  - { title: A }\n',
      says: ['unkeyed.yaml:1: several records may have the same title; a key is one of: id | isbn | shelf, title'],
    },
    {
      what: 'an unknown resource',
      file: 'autor.csv',
      text: 'id\n1\n',
      says: ['autor.csv:1: no resource or model is named "autor"; a resource with a similar name exists: `author`'],
    },
    {
      what: 'an invalid cell',
      file: 'author.csv',
      text: 'id,name\none,x\n',
      says: ['author.csv:2: id: Id must be an integer'],
    },
    {
      what: 'a row with too few cells',
      file: 'author.csv',
      text: 'id,name\n1\n',
      says: ['author.csv:2: the row must have as many cells as the first row, 2; got 1'],
    },
    {
      what: 'an unclosed quote',
      file: 'author.csv',
      text: 'id,name\n1,"x\n',
      says: ['author.csv:3: a quoted cell of the row that starts in line 2 is never closed'],
    },
    {
      what: 'an invalid line',
      file: 'author.ndjson',
      text: '{"id":1,"name":"A"}\n{"id":1,\n',
      says: ['author.ndjson:2: the record is not valid JSON at column 9\n'],
    },
    { what: 'invalid YAML', file: 'x.yaml', text: 'author: [\n', says: ['x.yaml:'] },
    {
      what: 'invalid JSON',
      file: 'x.json',
      text: '{\n"author": [}',
      says: ['x.json:2: the file is not valid JSON from here on'],
    },
    {
      what: 'an unknown format',
      file: 'x.xml',
      text: '<a/>',
      says: ['known formats are .yaml, .yml, .json, .ndjson, .jsonl, .csv'],
    },
  ])('rejects $what', async ({ file, text, says }) => {
    before ??= await dumped('author')
    const { code, stdout, stderr } = await seed(file, text)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    for (const each of says) expect(stderr).toContain(each)
  })

  test.each([
    ['author.csv', 'id,name\n1,"\u00e9\n"\n2,'],
    ['author.ndjson', '{"id":1,"name":"\u00e9"}\n\n\n{"id":2,"name":"'],
    ['author.json', '{"author":\n[{"id":1,"name":"\u00e9"},\n{\n"id":2,"name":"'],
  ])('names the line of %s that is not in UTF-8', async (file, valid) => {
    const bytes = Buffer.concat([Buffer.from(valid), Buffer.from('J\u00fcrgen\n', 'latin1')])
    await writeFile(join(shelves.project.folder, file), bytes)
    const { code, stderr } = await shelves.run('seed', file)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`error: ${file}:4: the (?:file|record) is not valid UTF-8\n`)),
    ])
  })

  test('writes nothing if it rejects a record', async () => {
    expect(await dumped('author')).toBe(before)
  })

  test('exits with 2 for a missing file', async () => {
    expect(await shelves.run('seed', 'none.yaml')).toMatchObject({
      code: 2,
      stderr: 'error: cannot read `none.yaml`: there is no such file\n',
    })
  })
})

describe('dump', () => {
  test.each(['ndjson', 'csv'])('writes %s that seed turns into the same rows, byte for byte', async (format) => {
    const paths: string[] = []
    for (const resource of ['author', 'book']) {
      const file = `${resource}.${format}`
      expect((await shelves.run('dump', resource, '--output', file)).stderr).toMatch(/^wrote \d+ records? to /)
      const text = await readFile(join(shelves.project.folder, file), 'utf8')
      await other.project.write(file, text)
      expect((await other.run('seed', file)).code).toBe(0)
      expect((await other.run('dump', resource, '--format', format)).stdout).toBe(text)
      paths.push(text)
    }
    expect(paths.join('')).toContain('0190163d-8694-739b-aea5-966c26f8ad91')
  })

  test.each([
    { args: ['--output', 'author.txt'], written: 'author.txt, as ndjson' },
    { args: ['--output', 'author.txt', '--format', 'csv'], written: 'author.txt, as csv' },
    { args: ['--output', 'author.csv'], written: 'author.csv' },
  ])('$args reports a format that the extension does not name', async ({ args, written }) => {
    const { stderr } = await shelves.run('dump', 'author', ...args)
    expect(stderr).toMatch(new RegExp(`^wrote \\d+ records? to ${written}\n$`))
  })

  test('distinguishes null from the empty text in CSV', async () => {
    const { stdout } = await shelves.run('dump', 'book', '--format', 'csv')
    expect(stdout.split('\r\n')[2]).toMatch(/^\d+,,"",2,A,,,,,false,draft,/)
  })

  test('reports an unknown resource', async () => {
    const { code, stderr } = await shelves.run('dump', 'boko')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: no resource or model is named "boko"; a resource with a similar name exists: `book`\n',
    })
  })
})
