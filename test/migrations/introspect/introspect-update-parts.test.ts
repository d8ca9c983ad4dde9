import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { appendMembers } from '../../../src/config/edit/append-members.js'
import { commentField, setSetting } from '../../../src/config/edit/edit-field.js'
import { addIndex, addRelation, commentIndex } from '../../../src/config/edit/edit-index.js'
import type { Json } from '../../../src/foundation/json.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

const file = () => join(project.folder, 'resources.yaml')

const TABLES = `
  create table authors (id bigserial primary key, code varchar(8) not null, name varchar(80) not null);
  create table shelves (room integer, place integer, primary key (room, place));
  create table books (
    id bigserial primary key, "authorId" bigint, author_code varchar(8), room integer, place integer,
    title varchar(80) not null, isbn varchar(13) not null unique, sold_at timestamptz, pages integer not null
  );
  create index on books (title);
  create index on books (pages) where sold_at is null;
  create index on books (pages, title);
  create index on books ((pages % 10));`

/** A file that somebody has edited. */
const EDITED = `version: 1
database: { managed: false }
models:
  authors:
    fields:
      id:   { type: bigint, primary_key: true }
      code: { type: string, max: 8 } # the short one
      name: { type: string, max: 80 }
  shelves:
    primary_key: [room, place]
    fields: { room: { type: integer }, place: { type: integer } }
  volumes:
    table: books
    fields:
      id:      { type: bigint, primary_key: true }
      writer:  { type: bigint, column: authorId, nullable: true, minimum: 1 }
      by_code: { type: string, max: 8, column: author_code, nullable: true }
      room:    { type: integer, nullable: true }
      place:   { type: integer, nullable: true }
      title:   { type: string, max: 80, label: Name }
      isbn:    { type: string, max: 13, unique: true }
      sold_at: { type: timestamp, nullable: true }
      length:  { type: integer, column: pages }
    indexes:
      - [title] # for the shop
      - { fields: [length], where: { sold_at: null } }
      - [length, title]
resources:
  volumes: { model: volumes, path: /volumes/, orderable: [title] }
`

const CHANGES = `
  alter table authors add unique (code);
  alter table books add foreign key ("authorId") references authors on delete cascade, add foreign key (author_code) references authors (code),
    add foreign key (room, place) references shelves on delete set null, drop constraint books_isbn_key;
  drop index books_title_idx, books_pages_idx;
  create unique index on books (title, pages);
  create index on books (lower(title));
  create index on books using hash (isbn);
  create index on books ("authorId") where sold_at is not null;
  create index on shelves (place);`

const UPDATED = `version: 1
database: { managed: false }
models:
  authors:
    fields:
      id:   { type: bigint, primary_key: true }
      code: { type: string, max: 8, unique: true } # the short one
      name: { type: string, max: 80 }
  shelves:
    primary_key: [room, place]
    fields: { room: { type: integer }, place: { type: integer } }
    indexes:
      - [place]
  volumes:
    table: books
    fields:
      id:      { type: bigint, primary_key: true }
      writer:  { type: belongs_to, column: authorId, nullable: true, model: authors, on_delete: cascade }
      by_code: { type: belongs_to, column: author_code, nullable: true, model: authors, references: code }
      room:    { type: integer, nullable: true }
      place:   { type: integer, nullable: true }
      title:   { type: string, max: 80, label: Name }
      isbn:    { type: string, max: 13 }
      sold_at: { type: timestamp, nullable: true }
      length:  { type: integer, column: pages }
    indexes:
      # the index "title" is gone:
      # - [title] # for the shop
      # the index "pages" is gone:
      # - { fields: [length], where: { sold_at: null } }
      - [length, title]
      - { fields: [writer], where: { sold_at__isnull: false } }
      - { fields: [isbn], using: hash }
      - { fields: [title], ignore_case: true }
      - { fields: [title, length], unique: true }
    relations:
      shelves: { model: shelves, fields: [room, place], on_delete: set_null }
resources:
  volumes: { model: volumes, path: /volumes/, orderable: [title] }
`

test('the `on_delete` of a relation over several fields follows its foreign key', async () => {
  await given(`
    create table shelves (room integer, place integer, primary key (room, place));
    create table books (id serial primary key, room integer, place integer, constraint shelved foreign key (place, room) references shelves (place, room))`)
  await run('introspect', '--no-resources')
  const written = await readFile(file(), 'utf8')
  const follow = async (action: string) => {
    await given(`alter table books drop constraint shelved;
      alter table books add constraint shelved foreign key (room, place) references shelves ${action}`)
    const { code, stderr } = await run('introspect', '--update')
    return { code, stderr, text: await readFile(file(), 'utf8') }
  }
  expect(await follow('on delete cascade')).toEqual({
    code: 0,
    stderr: expect.stringContaining('changed  books.shelves: follows its foreign key: on_delete: cascade\n'),
    text: written.replace('fields: [room, place] }', 'fields: [room, place], on_delete: cascade }'),
  })
  expect((await follow('on delete set null')).text).toBe(
    written.replace('fields: [room, place] }', 'fields: [room, place], on_delete: set_null }'),
  )
  expect(await follow('')).toMatchObject({ text: written })
  expect(await run('introspect', '--update')).toMatchObject({ stderr: expect.stringContaining('nothing to change') })
})

test.each([
  ['Unix', (text: string) => text],
  ['Windows', (text: string) => `\ufeff${text.replaceAll('\n', '\r\n')}`],
])(
  'introspect --update of a file from %s adds and comments indexes, and follows foreign keys',
  async (_system, format) => {
    await given(TABLES)
    await writeFile(file(), format(EDITED))
    expect(await run('introspect', '--update')).toMatchObject({
      code: 0,
      stderr: 'nothing to change: every table has a model in resources.yaml\n',
    })
    expect(await readFile(file(), 'utf8')).toBe(format(EDITED))

    await given(CHANGES)
    const updated = await run('introspect', '--update')
    expect(await readFile(file(), 'utf8')).toBe(format(UPDATED))
    expect(updated.stderr.match(/^(?:changed|differs|wrote).*$/gm)).toEqual([
      'changed  authors.code: follows its column: unique: true',
      'changed  volumes.isbn: follows its column: no unique',
      'changed  volumes.writer: follows its column: type: belongs_to, model: authors, on_delete: cascade, no minimum',
      'changed  volumes.by_code: follows its column: type: belongs_to, model: authors, references: code, no max',
      'changed  shelves: added the index [place]',
      'changed  volumes: added the index { fields: [writer], where: { sold_at__isnull: false } }',
      'changed  volumes: added the index { fields: [isbn], using: hash }',
      'changed  volumes: added the index { fields: [title], ignore_case: true }',
      'changed  volumes: added the index { fields: [title, length], unique: true }',
      'changed  volumes: commented out: the index "title" is gone',
      'changed  volumes: commented out: the index "pages" is gone',
      'changed  volumes: added the relation shelves: { model: shelves, fields: [room, place], on_delete: set_null }',
      'wrote resources.yaml: 12 changes',
    ])
    expect(updated.code).toBe(0)

    expect(await run('introspect', '--update')).toMatchObject({
      code: 0,
      stderr: 'nothing to change: every table has a model in resources.yaml\n',
    })
    expect(await readFile(file(), 'utf8')).toBe(format(UPDATED))
    expect(await run('check', '--database')).toMatchObject({
      code: 0,
      stdout: expect.not.stringMatching(/error|SC409/),
    })
  },
)

test('introspect --update keeps an index that it cannot read, and a relation whose foreign key is gone', async () => {
  await given(`
    create table authors (id bigserial primary key);
    create table books (id bigserial primary key, author_id bigint references authors, pages integer not null);
    create index on books (pages) where pages > 9;`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const written = await readFile(file(), 'utf8')
  const edited = written.replace('\nresources:', '    indexes:\n      - [pages]\n\nresources:')
  await writeFile(file(), edited)
  await given('alter table books drop constraint books_author_id_fkey')
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: 'nothing to change: every table has a model in resources.yaml\n',
  })
  expect(await readFile(file(), 'utf8')).toBe(edited)
})

const config = (model: string) => `version: 1\nmodels:\n${model}resources: {}\n`
const FIELDS = '    fields: { a: { type: integer }, b: { type: integer } }\n'

test.each<[what: string, before: string, after: string]>([
  ['without indexes', `  one:\n${FIELDS}`, `  one:\n${FIELDS}    indexes:\n      - [a]\n`],
  [
    'within braces',
    '  one: { fields: { a: { type: integer } } }\n',
    '  one: { fields: { a: { type: integer } }, indexes: [[a]] }\n',
  ],
  ['with an empty list', `  one:\n    indexes: []\n${FIELDS}`, `  one:\n    indexes: [[a]]\n${FIELDS}`],
  [
    'with a list on one line',
    `  one:\n    indexes: [[b], [b, a]]\n${FIELDS}`,
    `  one:\n    indexes: [[b], [b, a], [a]]\n${FIELDS}`,
  ],
  [
    'with a line for each',
    `  one:\n    indexes:\n    - [b] # b\n${FIELDS}`,
    `  one:\n    indexes:\n    - [b] # b\n    - [a]\n${FIELDS}`,
  ],
  [
    'with a wider list',
    `  one:\n    indexes:\n      -   [b]\n${FIELDS}`,
    `  one:\n    indexes:\n      -   [b]\n      - [a]\n${FIELDS}`,
  ],
  [
    'with an index of several lines',
    `  one:\n    indexes:\n      - fields: [b]\n        unique: true\n${FIELDS}`,
    `  one:\n    indexes:\n      - fields: [b]\n        unique: true\n      - [a]\n${FIELDS}`,
  ],
])('an index is added to a model %s', (_what, before, after) => {
  expect(addIndex(config(before), 'resources.yaml', 'one', '[a]')).toBe(config(after))
})

test('nothing is added to a model that is not there, nor an index to one whose indexes are not a list', () => {
  const add = (edit: typeof addIndex, model: string, added: string) =>
    edit(config(model + FIELDS), 'resources.yaml', 'one', added)
  expect(add(addIndex, '  two:\n', '[a]')).toBeUndefined()
  expect(add(addRelation, '  two:\n', 'two: { model: two, fields: [a, b] }')).toBeUndefined()
  expect(add(addIndex, '  one:\n    indexes:\n', '[a]')).toBeUndefined()
})

test('an index is commented with its lines, the only one with its list, and one that shares a line is left', () => {
  const gone = (text: string, at: number) =>
    commentIndex(config(text), 'resources.yaml', { model: 'one', at, reason: 'gone' })
  const two = `  one:\n    indexes:\n      - fields: [b]\n        unique: true\n      - [a]\n${FIELDS}`
  expect(gone(two, 0)).toBe(
    config(
      `  one:\n    indexes:\n      # gone:\n      # - fields: [b]\n      #   unique: true\n      - [a]\n${FIELDS}`,
    ),
  )
  const one = `  one:\n    indexes:\n      - [a]\n${FIELDS}`
  expect(gone(one, 0)).toBe(config(`  one:\n    # gone:\n    # indexes:\n    #   - [a]\n${FIELDS}`))
  expect(gone(one, 1)).toBeUndefined()
  expect(gone(`  one:\n    indexes: [[a], [b]]\n${FIELDS}`, 0)).toBeUndefined()
  expect(gone(two, 2)).toBeUndefined()
})

test.each<[what: string, before: string, after: string]>([
  [
    'without relations',
    `  one:\n${FIELDS}`,
    `  one:\n${FIELDS}    relations:\n      two: { model: two, fields: [a, b] }\n`,
  ],
  [
    'whose last key is marked with `?`',
    '  one:\n    ? fields\n    : a: { type: integer }\n',
    '  one:\n    ? fields\n    : a: { type: integer }\n    relations:\n      two: { model: two, fields: [a, b] }\n',
  ],
  [
    'within braces',
    '  one: { fields: { a: { type: integer } } }\n',
    '  one: { fields: { a: { type: integer } }, relations: { two: { model: two, fields: [a, b] } } }\n',
  ],
  [
    'with none in braces',
    `  one:\n    relations: {}\n${FIELDS}`,
    `  one:\n    relations: { two: { model: two, fields: [a, b] } }\n${FIELDS}`,
  ],
  [
    'with another one',
    `  one:\n    relations:\n      x: { model: x, fields: [b, a] }\n${FIELDS}`,
    `  one:\n    relations:\n      x: { model: x, fields: [b, a] }\n      two: { model: two, fields: [a, b] }\n${FIELDS}`,
  ],
])('a relation is added to a model %s', (_what, before, after) => {
  expect(addRelation(config(before), 'resources.yaml', 'one', 'two: { model: two, fields: [a, b] }')).toBe(
    config(after),
  )
})

test.each([
  ['  one:\n    fields:\n      a:\n        type: string\n', '        max: 5\n'],
  ['  one: # mixed line ends\r\n    fields:\n      a:\n        type: string\n', '        max: 5\n'],
  ['  one:\n    fields:\n      a: { type: string', ', max: 5', ' }\n'],
])('a setting is added after the last one of a field: %j', (before, added, after = '') => {
  const place = { model: 'one', field: 'a' }
  expect(setSetting(config(before + after), 'resources.yaml', place, { key: 'max', value: 5 })).toBe(
    config(before + added + after),
  )
})

const A = { model: 'one', field: 'a' }

test.each<[what: string, before: string, after: string]>([
  ['within braces', '      a: { max: 5, type: string, pattern: x }\n', '      a: { type: string, pattern: x }\n'],
  ['at the end of braces', '      a: { type: string, max: 5 }\n', '      a: { type: string }\n'],
  [
    'within braces on several lines',
    '      a: {\n        type: string, # a text\n        max: 5, # at most\n        # of letters\n        pattern: x }\n',
    '      a: {\n        type: string, # a text\n        # of letters\n        pattern: x }\n',
  ],
  [
    'at the end of braces on several lines',
    '      a: {\n        type: string, # a text\n        max: 5 # at most\r\n      }\n',
    '      a: {\n        type: string, # a text\n      }\n',
  ],
  [
    'before the end of braces on several lines',
    '      a: { type: string, # a text\n        max: 5 }\n',
    '      a: { type: string, # a text\n         }\n',
  ],
  [
    'within a line of braces on several lines',
    '      a: { pattern: x, max: 5, # at most\n        type: string }\n',
    '      a: { pattern: x, # at most\n        type: string }\n',
  ],
  ['on a line', '      a:\n        max: 5 # at most\n        type: string\n', '      a:\n        type: string\n'],
  ['at the end of a file', '      a:\n        type: string\n        max: 5', '      a:\n        type: string\n'],
])('a setting is removed %s', (_what, before, after) => {
  const text = (field: string) => `version: 1\nmodels:\n  one:\n    fields:\n${field}`
  expect(setSetting(text(before), 'resources.yaml', A, { key: 'max', value: undefined })).toBe(text(after))
})

test.each<[what: string, field: string]>([
  ['is not there', '      b: { type: string, max: 5 }\n'],
  ['marks it with `?`', '      a:\n        ? max\n        : 5\n'],
  ['has nothing else', '      a: { max: 5 }\n'],
  ['has its comma on another line', '      a: {\n        max: 5\n        , type: string }\n'],
])('a setting of a field that %s is neither removed nor added', (_what, field) => {
  const set = (key: string, value: Json | undefined) =>
    setSetting(config(`  one:\n    fields:\n${field}`), 'resources.yaml', A, { key, value })
  expect(set('max', undefined)).toBeUndefined()
  if (!field.includes('{')) expect(set('min', 1)).toBeUndefined()
})

test.each<[what: string, before: string, after: string | undefined]>([
  [
    'with its lines and comments',
    '      a: # one\n        type: string\n\n        max: 5 # five\n',
    '      # gone:\n      # a: # one\n      #   type: string\n\n      #   max: 5 # five\n',
  ],
  ['at the end of a file', '      a: { type: string }', '      # gone:\n      # a: { type: string }'],
  ['unless it is not there', '      b: { type: string }\n', undefined],
  ['unless another one precedes it', '      { b: { type: string }, a: { type: string }\n      }\n', undefined],
  ['unless another one follows it', '      {\n      a: { type: string }, b: { type: string } }\n', undefined],
])('a field is commented %s', (_what, before, after) => {
  const text = (field: string) => `version: 1\nmodels:\n  one:\n    fields:\n${field}`
  expect(commentField(text(before), 'resources.yaml', A, 'gone')).toBe(after && text(after))
})

test.each([
  ['the end of the file', '', ''],
  ['a blank line', '\nplugins: []\n', '\nplugins: []\n'],
  ['another line', 'plugins: []\n', '\nplugins: []\n'],
])('members of several lines have one blank line before and after them: %s', (_what, rest, after) => {
  const models = 'models:\n  a:\n    c: 1\n'
  for (const lines of [(text: string) => text, (text: string) => text.replaceAll('\n', '\r\n')])
    expect(
      appendMembers(lines(models + rest), 'resources.yaml', [
        { key: 'models', members: ['b:\n  d: 2\n', 'c:\n  d: 3\n'] },
      ]),
    ).toBe(lines(`${models}\n  b:\n    d: 2\n\n  c:\n    d: 3\n${after}`))
})

test.each([
  ['', '...\n'],
  ['', '...'],
  ['\n# one\n', '... # two\n# three\n'],
])('members are added before the end of the document: %j%j', (comment, end) => {
  const text = (added: string, more: string) => `models:\n  a: 1\n${added}${comment}${more}${end}`
  const additions = ['models', 'resources'].map((key) => ({ key, members: ['b: 2'] }))
  const after = text('\n  b: 2\n', '\nresources:\n  b: 2\n')
  expect(appendMembers(text('', ''), 'resources.yaml', additions)).toBe(after)
})

test('a mapping is the start of an empty file', () => {
  expect(appendMembers('', 'resources.yaml', [{ key: 'models', members: ['a: 1'] }])).toBe('models:\n  a: 1\n')
})

test.each([
  ['models', 'resources'],
  ['resources', 'models'],
])('members are added to mappings in any order: %s, %s', (first, second) => {
  const text = (added: string) => `${first}:\n  a: 1\n${added}${second}:\n  a: 1\n${added}`
  const additions = ['models', 'resources'].map((key) => ({ key, members: ['b: 2'] }))
  expect(appendMembers(text(''), 'resources.yaml', additions)).toBe(text('\n  b: 2\n'))
})
