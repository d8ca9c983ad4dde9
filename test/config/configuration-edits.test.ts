import { describe, expect, test } from '@jest/globals'
import { declareField, declareRename, declareResource, formatResource } from '../../src/internal.js'
import { checkText } from '../support/config.js'

// What commands write into resources.yaml: `migrate adopt` a field, `add resource` a resource, `migrate plan --rename` a former name.
const FILE = 'resources.yaml'
const KEY = '      id: { type: bigint, primary_key: true }\n'

const isRight = (text: string | undefined) => text !== undefined && !Array.isArray(checkText(text))

describe('a field for a column that is only in the database', () => {
  const before = `version: 1\nmodels:\n  book:\n    fields:\n${KEY}`
  const column = { table: 'book', name: 'tmp', type: 'text', collation: 'C', nullable: true, default: null }

  test.each<[type: string, spelled: string]>([
    ['text', 'type: text'],
    ['character varying(40)', 'type: string, max: 40'],
    ['character varying', 'type: string'],
    ['integer', 'type: integer'],
    ['bigint', 'type: bigint'],
    ['numeric(12,2)', 'type: decimal, precision: 12, scale: 2'],
    ['double precision', 'type: float'],
    ['boolean', 'type: boolean'],
    ['date', 'type: date'],
    ['timestamp with time zone', 'type: timestamp'],
    ['uuid', 'type: uuid'],
    ['jsonb', 'type: json'],
    ['text[]', 'type: array, items: { type: text, nullable: true }'],
    ['numeric(12,2)[]', 'type: array, items: { type: decimal, precision: 12, scale: 2, nullable: true }'],
    ['smallint[]', 'type: array, items: { type: integer, minimum: -32768, maximum: 32767, nullable: true }'],
  ])('of the type %s can be expressed in the file', (type, spelled) => {
    const written = declareField(before, FILE, { ...column, type })
    expect(written).toBe(`${before}      tmp: { ${spelled}, nullable: true, private: true }\n`)
    expect(isRight(written)).toBe(true)
  })

  test.each<[type: string]>([
    ['a text'],
    ['bit(3)'],
    ['xcharacter varying(40)'],
    ['xcharacter varying'],
    ['xinteger'],
    ['xbigint'],
    ['xnumeric(12,2)'],
    ['xdouble precision'],
    ['xboolean'],
    ['xdate'],
    ['xtimestamp with time zone'],
    ['xuuid'],
    ['jsonb[]'],
    ['xinteger[]'],
    ['xjsonb'],
    ['timestamp(3) with time zone'],
    ['tsvector'],
  ])('of the type %s cannot be expressed', (type) => {
    expect(declareField(before, FILE, { ...column, type })).toBeUndefined()
  })

  test.each<[type: string, sql: string, spelled: string]>([
    ['timestamp with time zone', 'now()', '{ function: now }'],
    ['uuid', 'gen_random_uuid()', '{ function: uuid }'],
    ['integer', '17', '17'],
    ['integer', '-1', '-1'],
    ['boolean', 'true', 'true'],
    ['boolean', 'false', 'false'],
    ['text', "'it''s \"so\"'::text", '"it\'s \\"so\\""'],
    ['character varying(9)', "''::character varying", '""'],
  ])('of the type %s with the default %s keeps it', (type, sql, spelled) => {
    const written = declareField(before, FILE, { ...column, type, nullable: false, default: sql })
    expect(written).toContain(`, default: ${spelled}, private: true }\n`)
    expect(written).not.toContain('nullable')
    expect(isRight(written)).toBe(true)
  })

  test.each([
    ['date', 'now()'],
    ['text', 'now()'],
    ['integer', "'1'::text"],
    ['integer', '1.5'],
  ])(
    'of the type %s with the default %s cannot be expressed, because its field could not have this default',
    (type, sql) => {
      expect(declareField(before, FILE, { ...column, type, default: sql })).toBeUndefined()
    },
  )

  test.each<[type: string, labels: readonly string[] | null, spelled: string]>([
    ['smallint', null, 'type: integer, minimum: -32768, maximum: 32767'],
    ['real', null, 'type: float, bits: 32'],
    ['timestamp(6) with time zone', null, 'type: timestamp'],
    ['mood', ['sad', 'so so'], 'type: choice, choices: [sad, "so so"]'],
  ])('of the type %s is written as by introspection', (type, labels, spelled) => {
    const written = declareField(before, FILE, { ...column, type, labels })
    expect(written).toBe(`${before}      tmp: { ${spelled}, nullable: true, private: true }\n`)
    expect(isRight(written)).toBe(true)
  })

  test.each([
    ['(now() + 1)'],
    ['now() + 1'],
    ["upper('a'::text)"],
    ["'a'::text || 'b'::text"],
    ["'a'::citext"],
    ["'a'::text[]"],
    ["lower('a'::text)"],
    ['x gen_random_uuid()'],
    ['gen_random_uuid()::text'],
    ['1.5'],
    ['x1'],
    ['truely'],
  ])('with the default %s cannot be expressed', (sql) => {
    expect(declareField(before, FILE, { ...column, default: sql })).toBeUndefined()
  })

  test.each<[type: string, collation: string | null, spelled: string]>([
    ['text', null, 'type: text, collation: default, '],
    ['text', 'de-x-icu', 'type: text, collation: de-x-icu, '],
    ['character varying(9)', 'default', 'type: string, max: 9, collation: default, '],
    ['integer', null, 'type: integer, nullable'],
  ])('of the type %s with the collation %s states its order', (type, collation, spelled) => {
    expect(declareField(before, FILE, { ...column, type, collation })).toContain(`tmp: { ${spelled}`)
  })

  test.each([
    ['Tmp', 'tmp: { type: text, nullable: true, column: Tmp, private: true }'],
    ['1st', 'column_1st: { type: text, nullable: true, column: "1st", private: true }'],
    ['a b', 'a_b: { type: text, nullable: true, column: "a b", private: true }'],
    ['tmp-old', 'tmp_old: { type: text, nullable: true, column: tmp-old, private: true }'],
  ])('has a name of its own if the name of the column is %s', (name, written) => {
    expect(declareField(before, FILE, { ...column, name })).toContain(`${written}\n`)
  })

  test.each([['ID'], ['Id']])('is not written if the name made from %s is taken', (name) => {
    expect(declareField(before, FILE, { ...column, name })).toBeUndefined()
  })

  test('is not written if it requires a value that nothing provides', () => {
    expect(declareField(before, FILE, { ...column, nullable: false })).toBeUndefined()
  })

  const added = 'tmp: { type: text, nullable: true, private: true }'

  test.each<[what: string, before: string, after: string]>([
    [
      'after the last field and its comment',
      `version: 1\nmodels:\n  other:\n    fields:\n${KEY}  book:\n    fields:\n${KEY}      at: { type: date } # when\n\n  # more\nplugins: []\n`,
      `version: 1\nmodels:\n  other:\n    fields:\n${KEY}  book:\n    fields:\n${KEY}      at: { type: date } # when\n      ${added}\n\n  # more\nplugins: []\n`,
    ],
    [
      'after a field on several lines',
      `version: 1\nmodels:\n  book:\n    fields:\n${KEY}      at:\n        type: date\n\n    indexes: [[at]]\n`,
      `version: 1\nmodels:\n  book:\n    fields:\n${KEY}      at:\n        type: date\n      ${added}\n\n    indexes: [[at]]\n`,
    ],
    [
      'at the end of a file without a final line break',
      `version: 1\nmodels:\n  book:\n    fields:\n${KEY}`.trimEnd(),
      `version: 1\nmodels:\n  book:\n    fields:\n${KEY}      ${added}`,
    ],
    [
      'inside braces',
      `version: 1\nmodels:\n  book: { fields: { id: { type: bigint, primary_key: true } } } # all\n`,
      `version: 1\nmodels:\n  book: { fields: { id: { type: bigint, primary_key: true }, ${added} } } # all\n`,
    ],
    [
      'inside braces on lines of their own',
      `version: 1\nmodels:\n  book:\n    fields: {\n${KEY.trimEnd()} # key\n    }\n`,
      `version: 1\nmodels:\n  book:\n    fields: {\n${KEY.trimEnd()}, ${added} # key\n    }\n`,
    ],
    [
      'to the model of the table, whatever its name',
      `version: 1\nmodels:\n  other:\n    fields:\n${KEY}  tome:\n    table: book\n    fields:\n${KEY}`,
      `version: 1\nmodels:\n  other:\n    fields:\n${KEY}  tome:\n    table: book\n    fields:\n${KEY}      ${added}\n`,
    ],
  ])('is written %s, and every other character stays', (_what, text, after) => {
    for (const mark of ['', '\ufeff']) expect(declareField(mark + text, FILE, column)).toBe(mark + after)
    const windows = (lines: string) => lines.replaceAll('\n', '\r\n')
    expect(declareField(windows(text), FILE, column)).toBe(windows(after))
    expect(isRight(after)).toBe(true)
  })

  test('is not written into an invalid file, or one without a model for the table', () => {
    expect(declareField(`${before}  - x`, FILE, column)).toBeUndefined()
    expect(declareField(before, FILE, { ...column, table: 'other' })).toBeUndefined()
  })
})

describe('a resource', () => {
  const author = {
    name: 'author',
    table: 'authors',
    path: '/authors/',
    fields: [{ name: 'born', spelled: '{ type: date, nullable: true }' }],
  }
  const model = (indent: string) => formatResource(author).models.replace(/^/gm, indent)
  const resource = (indent: string) => formatResource(author).resources.replace(/^/gm, indent)
  const BOOK = `  book:\n    fields:\n${KEY}`

  test('gets a table from migrations, also where models do not by default', () => {
    const before = `version: 1\ndatabase: { managed: false }\nmodels:\n${BOOK}`
    expect(declareResource(before, FILE, author)).toContain('  author:\n    managed: true\n    table: authors\n')
  })

  test('is written without indentation', () => {
    expect(formatResource(author)).toEqual({
      models: `author:\n  table: authors\n  fields:\n    id: { type: bigint, primary_key: true }\n    born: { type: date, nullable: true }`,
      resources: `author:\n  model: author\n  path: /authors/`,
    })
  })

  test.each<[what: string, before: string, after: string]>([
    [
      'at the end of both mappings',
      `version: 1\nmodels:\n${BOOK}\nresources:\n  book: { model: book, path: /books/ } # all\n`,
      `version: 1\nmodels:\n${BOOK}\n${model('  ')}\n\nresources:\n  book: { model: book, path: /books/ } # all\n\n${resource('  ')}\n`,
    ],
    [
      'as the first model and the first resource',
      'version: 1\n\n\n',
      `version: 1\n\nmodels:\n${model('  ')}\n\nresources:\n${resource('  ')}\n`,
    ],
    [
      'into a file with only comments',
      '# ours\n',
      `# ours\n\nmodels:\n${model('  ')}\n\nresources:\n${resource('  ')}\n`,
    ],
    [
      'with the indentation of the other resources',
      `version: 1\nmodels:\n    book:\n        fields:\n    ${KEY}resources:\n    book: { model: book, path: /books/ }`,
      `version: 1\nmodels:\n    book:\n        fields:\n    ${KEY}\n${model('    ')}\nresources:\n    book: { model: book, path: /books/ }\n\n${resource('    ')}\n`,
    ],
    [
      'before a comment that follows',
      `version: 1\nmodels:\n${BOOK}# the rest\nplugins: []\n`,
      `version: 1\nmodels:\n${BOOK}\n${model('  ')}\n# the rest\nplugins: []\n\nresources:\n${resource('  ')}\n`,
    ],
  ])('is written %s, and every other character stays', (_what, before, after) => {
    for (const mark of ['', '\ufeff']) {
      expect(declareResource(mark + before, FILE, author)).toBe(mark + after)
      const windows = (text: string) => mark + text.replaceAll('\n', '\r\n')
      expect(declareResource(windows(before), FILE, author)).toBe(windows(after))
    }
  })

  test.each<[what: string, text: string]>([
    ['cannot be parsed', `version: 1\nmodels:\n${BOOK}  - x\n`],
    ['has a model of that name', `version: 1\nmodels:\n${BOOK.replace('book', 'author')}`],
    ['has a resource of that name', `version: 1\nresources:\n  author: { model: book, path: /x/ }\n`],
    [
      'has its models on one line',
      'version: 1\nmodels: { book: { fields: { id: { type: bigint, primary_key: true } } } }\n',
    ],
    ['has its models inside braces', 'version: 1\nmodels: {\n  book: { fields: { id: { type: bigint } } } }\n'],
    ['has its resources on one line', `version: 1\nresources: { book: { model: book, path: /books/ } }\n`],
    ['is JSON', '{"version":1}'],
    ['is inside braces, with a comment', '# ours\n{ version: 1 }\n'],
    ['has an empty mapping of models', 'version: 1\nmodels: {}\n'],
    [
      'marks its models with `?`',
      'version: 1\nmodels:\n  ? book\n  : fields: { id: { type: bigint, primary_key: true } }\n',
    ],
  ])('is not written into a file that %s', (_what, text) => {
    expect(declareResource(text, FILE, author)).toBeUndefined()
  })
})

describe('a former name', () => {
  const file = (models: string) => `version: 1 # one\nmodels:\n  other:\n    fields:\n${KEY}${models}`

  test.each<[what: string, rename: string, before: string, after: string]>([
    [
      'of a field inside braces',
      'books.size:pages',
      `  book:\n    table: books\n    fields:\n${KEY}      pages:   { type: integer,  minimum: 1 }   # how many\n`,
      `  book:\n    table: books\n    fields:\n${KEY}      pages:   { renamed_from: size, type: integer,  minimum: 1 }   # how many\n`,
    ],
    [
      'of a field inside braces on several lines',
      'book.size:pages',
      `  book:\n    fields:\n${KEY}      pages: {\n        type: integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: {\n        renamed_from: size, type: integer }\n`,
    ],
    [
      'of a field in block style',
      'book.size:pages',
      `  book:\n    fields:\n${KEY}      pages: # many\n        # what it is\n        type: integer # whole\n`,
      `  book:\n    fields:\n${KEY}      pages: # many\n        # what it is\n        renamed_from: size\n        type: integer # whole\n`,
    ],
    [
      'of a field whose keys are marked with `?`',
      'book.size:pages',
      `  book:\n    fields:\n${KEY}      ? pages\n      : ? type\n        : integer\n`,
      `  book:\n    fields:\n${KEY}      ? pages\n      : renamed_from: size\n        ? type\n        : integer\n`,
    ],
    [
      'of a field whose keys are marked with `?` inside braces',
      'book.size:pages',
      `  book:\n    fields:\n${KEY}      pages: { ? type : integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: { renamed_from: size, ? type : integer }\n`,
    ],
    [
      'of a column whose name YAML would not read as text',
      'book.null:pages',
      `  book:\n    fields:\n${KEY}      pages: { type: integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: { renamed_from: "null", type: integer }\n`,
    ],
    [
      'of a column whose name older parsers of YAML would not read as text',
      'book.No:pages',
      `  book:\n    fields:\n${KEY}      pages: { type: integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: { renamed_from: "No", type: integer }\n`,
    ],
    [
      'of a column with a name of the maximum length',
      `book.${'x'.repeat(63)}:pages`,
      `  book:\n    fields:\n${KEY}      pages: { type: integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: { renamed_from: ${'x'.repeat(63)}, type: integer }\n`,
    ],
    [
      'of a column with a control character',
      'book.a\u0085b:pages',
      `  book:\n    fields:\n${KEY}      pages: { type: integer }\n`,
      `  book:\n    fields:\n${KEY}      pages: { renamed_from: "a\\u0085b", type: integer }\n`,
    ],
    [
      'of a table',
      'tomes:books',
      `  book: # all\n    table: books # here\n    fields:\n${KEY}`,
      `  book: # all\n    renamed_from: tomes\n    table: books # here\n    fields:\n${KEY}`,
    ],
    [
      'of a table with the name of its model',
      'tomes:book',
      `  book:\r\n    fields: { id: { type: bigint, primary_key: true } }\r\n`,
      `  book:\r\n    renamed_from: tomes\r\n    fields: { id: { type: bigint, primary_key: true } }\r\n`,
    ],
    [
      'of a field of a table whose name has a dot and a space',
      '"Old.Books all".Size:pages',
      `  book:\n    table: '"Old.Books all"'\n    fields:\n${KEY}      pages: { type: integer }\n`,
      `  book:\n    table: '"Old.Books all"'\n    fields:\n${KEY}      pages: { renamed_from: Size, type: integer }\n`,
    ],
    [
      'of a table whose name has a dot',
      '"a.b":books',
      `  book:\n    table: books\n    fields:\n${KEY}`,
      `  book:\n    renamed_from: "\\"a.b\\""\n    table: books\n    fields:\n${KEY}`,
    ],
    [
      'of a table whose name has a space',
      'Order Details:orders',
      `  book:\n    table: orders\n    fields:\n${KEY}`,
      `  book:\n    renamed_from: "Order Details"\n    table: orders\n    fields:\n${KEY}`,
    ],
    [
      'of a table whose model is inside braces',
      'tomes:book',
      '  book: { fields: { id: { type: bigint, primary_key: true } } }\n',
      '  book: { renamed_from: tomes, fields: { id: { type: bigint, primary_key: true } } }\n',
    ],
  ])('%s is written, and every other character stays', (_what, rename, before, after) => {
    for (const mark of ['', '\ufeff']) expect(declareRename(mark + file(before), FILE, rename)).toBe(mark + file(after))
    const withReturns = (text: string) => text.replaceAll(/\r?\n/g, '\r')
    expect(declareRename(withReturns(file(before)), FILE, rename)).toBe(withReturns(file(after)))
    expect(isRight(file(after))).toBe(true)
  })

  const models = `  book:\n    table: books\n    renamed_from: tomes\n    fields:\n${KEY}      pages: { type: date }\n      old: { type: date, renamed_from: x }\n`

  test.each<[rename: string, message: string, help: string]>([
    ['size', '`size` is not a valid rename', 'table.old:new for a field, old:new for a table'],
    ['books.size', '`books.size` is not a valid rename', 'table.old:new for a field, old:new for a table'],
    ['books.:pages', '`books.:pages` is not a valid rename', 'table.old:new for a field, old:new for a table'],
    ['books.size:', '`books.size:` is not a valid rename', 'table.old:new for a field, old:new for a table'],
    [':books', '`:books` is not a valid rename', 'table.old:new for a field, old:new for a table'],
    ['xBooks.size:pages', 'no model has the table `xBooks`', 'a table with a similar name exists: `books`'],
    ['books.size:pages!', 'the model `book` has no field `pages!`', 'a field with a similar name exists: `pages`'],
    ['boks.size:pages', 'no model has the table `boks`', 'a table with a similar name exists: `books`'],
    ['books.size:page', 'the model `book` has no field `page`', 'a field with a similar name exists: `pages`'],
    ['tomes:boks', 'no model has the table `boks`', 'a table with a similar name exists: `books`'],
    ['tomes:books', 'models.book has `renamed_from` already', 'change it there'],
    ['books.size:old', 'models.book.fields.old has `renamed_from` already', 'change it there'],
  ])('is rejected: %s', (rename, message, help) => {
    expect(declareRename(file(models), FILE, rename)).toEqual({ message, help: [help] })
  })

  test.each([
    {
      rename: 'books.size:pages',
      message: '`models.book.dropped` lists `size`, and a rename keeps its values',
      help: 'to rename it, remove `size` from `dropped`',
    },
    {
      rename: 'tomes:books',
      message: '`dropped` lists `tomes`, and a rename keeps its rows',
      help: 'to rename it, remove `tomes` from `dropped`',
    },
  ])('is rejected while `dropped` says the opposite: $rename', ({ rename, message, help }) => {
    const given = `  book:\n    table: books\n    dropped: [size]\n    fields:\n${KEY}      pages: { type: date }\n`
    expect(declareRename(`dropped: [tomes]\n${file(given)}`, FILE, rename)).toEqual({ message, help: [help] })
  })

  test('is rejected if the file is invalid', () => {
    expect(declareRename('models: [', FILE, 'a:b')).toEqual({
      message: 'resources.yaml cannot be read',
      help: ['run: snippetctl check'],
    })
  })
})
