import { afterEach, describe, expect, test } from '@jest/globals'
import type { Diagnostic } from '../../src/internal.js'
import { JOURNAL } from '../../src/migrations/files/journal.js'
import { checkText, mistakesOf, specOf } from '../support/config.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'

const bytes = (...parts: (string | readonly number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

const NOWHERE = { line: 0, column: 0 }

const utf16 = (text: string): Uint8Array => bytes([0xff, 0xfe], [...Buffer.from(text, 'utf16le')])

/** A configuration with one model, whose fields are given. */
const withFields = (fields: string, rest = ''): string =>
  `version: 1\nmodels:\n  book:\n    fields:\n      id: { type: bigint, primary_key: true }\n${fields
    .split('\n')
    .map((line) => `      ${line}\n`)
    .join('')}${rest}`

const withField = (options: string): string => withFields(`f: { ${options} }`)

const withResource = (lines: string): string =>
  withFields(
    'title: { type: string }\nsecret: { type: string, private: true, nullable: true }',
    `resources:\n  book:\n    model: book\n    path: /books/\n${lines}`,
  )

describe('a file', () => {
  test.each<[string, string | Uint8Array, string[]]>([
    ['nothing', '', ['1:1 SC208']],
    ['only comments', '# none\n', ['1:1 SC208']],
    ['only a document marker', '---\n', ['1:1 SC208']],
    ['a scalar', 'hello\n', ['1:1 SC208']],
    ['a list', '- a\n', ['1:1 SC208']],
    ['more than 4 MiB', '#'.repeat(4 * 1024 * 1024 + 1), ['1:1 SC101']],
    ['invalid UTF-8', bytes('version: 1\nx-a: ', [0xff], '\n'), ['2:6 SC102']],
    ['UTF-8 that ends within a character', bytes('x-a: ', [0xe2, 0x82]), ['1:6 SC102']],
    ['invalid UTF-8 after a byte order mark', bytes([0xef, 0xbb, 0xbf], 'x-a: ', [0xc0, 0x80]), ['1:6 SC102']],
    ['UTF-16', utf16('version: 1\n'), ['1:1 SC103']],
    ['UTF-16, big-endian', bytes([0xfe, 0xff, 0, 0x61]), ['1:1 SC103']],
    ['a NUL', 'version: 1\nx-a: "b\u0000"\n', ['2:8 SC104']],
    ['another control character', 'version: 1\nx-a: b\u001b\n', ['2:7 SC104']],
    ['a tab as indentation', 'version: 1\nmodels:\n\tbook: {}\n', ['3:1 SC114']],
    ['a duplicate key', 'version: 1\nversion: 1\n', ['2:1 SC111']],
    ['a duplicate key in different quotes', 'version: 1\n"version": 1\n', ['2:1 SC111']],
    [
      'a key that is not ASCII',
      'version: 1\nmodels:\n  caf\u0065\u0301: 1\n  caf\u00e9: 1\n',
      ['3:3 SC206', '4:3 SC206'],
    ],
    ['an alias', 'version: 1\nx-a: &a 1\nx-b: *a\n', ['2:6 SC106', '3:6 SC106']],
    ['an alias without an anchor', 'x-a: *nothing\n', ['1:6 SC106']],
    ['an alias of itself', 'x-a: &a [*a]\n', ['1:6 SC106', '1:10 SC106']],
    ['a tag', 'x-a: !!js/function "x"\n', ['1:6 SC107']],
    ['a custom tag', 'x-a: !foo x\n', ['1:6 SC107']],
    ['a standard tag', 'x-a: !!set {a}\n', ['1:6 SC107']],
    ['a merge key', 'x-a:\n  <<: {b: 1}\n', ['2:3 SC110']],
    ['a directive', '%YAML 1.1\n---\nx-a: yes\n', ['1:1 SC108']],
    ['two documents', 'a: 1\n---\nb: 2\n', ['2:1 SC109']],
    ['__proto__', 'x-a: {__proto__: 1}\n', ['1:7 SC112']],
    ['constructor', 'x-a: {constructor: 1}\n', ['1:7 SC112']],
    ['prototype', 'x-a: {"prototype": 1}\n', ['1:7 SC112']],
    ['a number as a key', 'x-a: {1: 1}\n', ['1:7 SC113']],
    ['a list as a key', 'x-a: {[b]: 1}\n', ['1:7 SC113']],
    ['a number with a leading zero', 'x-a: 012\n', ['1:6 SC116']],
    ['an integer above 2^53', 'x-a: 9223372036854775808\n', ['1:6 SC115']],
    ['a fraction with more digits than JavaScript keeps', 'x-a: 0.12345678901234567890\n', ['1:6 SC115']],
    ['a fraction of 17 digits that JavaScript keeps', 'x-a: 0.30000000000000004\n', []],
    ['a number with an exponent', 'x-a: 1.2345678901234e20\n', []],
    ['a fraction that ends with zeros', 'x-a: 0.1000000000000000\n', []],
    ['the largest number of JavaScript', 'x-a: 1.7976931348623157e308\n', []],
    ['a fraction without the zero before it', 'x-a: .12345678901234567890\n', ['1:6 SC115']],
    ['a number that JavaScript rounds to zero', 'x-a: -1.5e-400\n', ['1:6 SC115']],
    ['the smallest number of JavaScript', 'x-a: [5e-324, 2.5e-320]\n', []],
    ['a number near zero that JavaScript rounds', 'x-a: 4.9e-324\n', ['1:6 SC115']],
    ['a zero with an exponent', 'x-a: 0.0e-400\n', []],
    ['not a number', 'x-a: .nan\n', ['1:6 SC115']],
    ['infinity', 'x-a: -.inf\n', ['1:6 SC115']],
    ['a colon without a space', 'version:1\nmodels: {}\n', ['1:1 SC114']],
    ['an unclosed quote', 'version: 1\nx-a: "b\n', ['2:6 SC114']],
    ['an indentation with one space too many', 'models:\n  book: 1\n   author: 2\n', ['2:9 SC114']],
    ['an unmatched closing bracket', 'x-a: ]\n', ['1:6 SC114']],
    ['a comma without a value', 'x-a: [,]\n', ['1:7 SC114']],
    ['too many values', 'x-a: [' + '1,'.repeat(1_200_000) + ']', ['1:1333336 SC117']],
    ['500 nested lists', `x-a: ${'['.repeat(500)}`, ['1:25 SC105']],
    ['5,000 nested lists', `x-a: ${'['.repeat(5000)}${']'.repeat(5000)}`, ['1:25 SC105']],
    [
      '1,000 nested mappings',
      Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join(''),
      ['21:22 SC105'],
    ],
    ['21 nested lists on one line', `${'- '.repeat(21)}a\n`, ['1:41 SC105']],
  ])('%s is rejected', (_name, text, expected) => {
    const found = mistakesOf(text)
    expect(found.filter((mistake) => expected.includes(mistake))).toEqual(expected)
    if (/SC1/.test(expected[0] ?? '')) expect(found).toEqual(expected)
  })

  test('at most 1000 syntax errors are reported', () => {
    expect(mistakesOf('x-a: [' + '*a, '.repeat(1200) + ']\n')).toHaveLength(1000)
  })

  test.each([
    ['a byte order mark', '\ufeffversion: 1\n'],
    ['CRLF', 'version: 1\r\nmodels: {}\r\n'],
    ['lone CR', 'version: 1\rmodels: {}\r'],
    ['trailing spaces', 'version: 1   \nmodels: {}   \n'],
    ['an octal number in a note', 'version: 1\nx-note: 0o17\n'],
    ['a document marker at the start', '---\nversion: 1\n'],
    ['20 levels', `version: 1\nx-note: ${'['.repeat(19)}${']'.repeat(19)}\n`],
  ])('%s is accepted', (_name, text) => {
    expect(mistakesOf(text)).toEqual([])
  })

  test('lone CRs count as line ends in positions', () => {
    expect(mistakesOf('version: 1\rx-a: *b\r')).toEqual(['2:6 SC106'])
  })

  const UTF8 = ['save the file as UTF-8']
  const ESCAPE = ['remove it; inside double quotes it can be written as an escape sequence']
  const invalid = (byte: string, at: number) =>
    `invalid UTF-8: the byte 0x${byte} at offset ${at} is not part of a character`
  const hidden = (code: string) => `the character U+${code} is invisible and not allowed`

  test.each<[what: string, text: Uint8Array, place: string, message: string, help: readonly string[]]>([
    ['UTF-16', utf16('a'), '1:1 to 1:1', 'the file is encoded as UTF-16 (little-endian)', UTF8],
    ['UTF-16BE', bytes([0xfe, 0xff, 0, 0x61]), '1:1 to 1:1', 'the file is encoded as UTF-16 (big-endian)', UTF8],
    ['UTF-32', bytes([0xff, 0xfe, 0, 0, 0x61]), '1:1 to 1:1', 'the file is encoded as UTF-32 (little-endian)', UTF8],
    ['UTF-32BE', bytes([0, 0, 0xfe, 0xff, 0]), '1:1 to 1:1', 'the file is encoded as UTF-32 (big-endian)', UTF8],
    [
      'one byte above the limit',
      bytes('#'.repeat(4 * 1024 * 1024 + 1)),
      '1:1 to 1:1',
      'the file has more than 4194304 bytes',
      ['4 MiB is the limit'],
    ],
    [
      'more tokens than a configuration needs',
      bytes(`x-a: [${'1,'.repeat(1_200_000)}]`),
      '1:1333336 to 1:1333337',
      'the file has more than 2000000 tokens',
      ['remove data that is not configuration; `snippetctl seed` reads records from files of their own'],
    ],
    [
      'deep nesting',
      bytes('['.repeat(30)),
      '1:21 to 1:22',
      'nested too deeply: more than 20 levels',
      ['close the brackets that are open, or correct the indentation'],
    ],
    [
      'a number near zero with more digits than JavaScript keeps',
      bytes('x-a: 4.9e-324'),
      '1:6 to 1:14',
      '`4.9e-324` cannot be represented exactly as a number',
      ['the nearest number is `5e-324`; put text in quotes'],
    ],
    ['Latin-1', bytes('a: caf', [0xe9], ' # b\n'), '1:7 to 1:8', invalid('e9', 6), UTF8],
    ['Latin-1 after multi-byte characters', bytes('a: é€😀', [0xe9], '\n'), '1:7 to 1:8', invalid('e9', 12), UTF8],
    ['Latin-1 after a byte order mark', bytes([0xef, 0xbb, 0xbf], 'a: ', [0xe9]), '1:4 to 1:5', invalid('e9', 6), UTF8],
    ['a lone continuation byte', bytes('a\nb', [0x80]), '2:2 to 2:3', invalid('80', 3), UTF8],
    ['an ASCII byte instead of a continuation byte', bytes([0xc3, 0x09]), '1:1 to 1:2', invalid('c3', 0), UTF8],
    ['an incomplete character at the end', bytes('ab', [0xf0, 0x9f]), '1:3 to 1:4', invalid('f0', 2), UTF8],
    ['NUL', bytes('a: "b\u0000"'), '1:6 to 1:7', hidden('0000'), ESCAPE],
    ['BEL', bytes('\u0008'), '1:1 to 1:2', hidden('0008'), ESCAPE],
    ['VT', bytes('a\n\u000b'), '2:1 to 2:2', hidden('000B'), ESCAPE],
    ['FF', bytes('\u000c'), '1:1 to 1:2', hidden('000C'), ESCAPE],
    ['SO', bytes('\u000e'), '1:1 to 1:2', hidden('000E'), ESCAPE],
    ['US', bytes('\u001f'), '1:1 to 1:2', hidden('001F'), ESCAPE],
    ['DEL', bytes('\u007f'), '1:1 to 1:2', hidden('007F'), ESCAPE],
    ['IND', bytes('\u0084'), '1:1 to 1:2', hidden('0084'), ESCAPE],
    ['SSA', bytes('\u0086'), '1:1 to 1:2', hidden('0086'), ESCAPE],
    ['APC', bytes('\u009f'), '1:1 to 1:2', hidden('009F'), ESCAPE],
    ['a byte order mark inside the text', bytes('a\ufeff'), '1:2 to 1:3', hidden('FEFF'), ESCAPE],
    ['a noncharacter', bytes('\uffff'), '1:1 to 1:2', hidden('FFFF'), ESCAPE],
  ])('%s is reported at its position', (_what, text, place, message, help) => {
    const [found, ...others] = checkText(text) as Diagnostic[]
    const at = ({ line, column }: { readonly line: number; readonly column: number }) => `${line}:${column}`
    expect(others).toEqual([])
    expect(found).toMatchObject({ message, help })
    expect(`${at(found?.range.start ?? NOWHERE)} to ${at(found?.range.end ?? NOWHERE)}`).toBe(place)
  })

  test.each([
    ['NEL and a no-break space', '# a\u0085\u00a0b'],
    ['the maximum number of bytes', '#'.repeat(1024 * 1024 - 11)],
    ['a byte order mark at the start', '\ufeff# a'],
  ])('%s is valid', (_what, text) => {
    expect(mistakesOf(`${text}\nversion: 1`)).toEqual([])
  })

  test('the first alias of a "billion laughs" file is reported where it is', () => {
    const levels = Array.from({ length: 9 }, (_, level) => `x-${level}: &l${level} [${`*l${level - 1}, `.repeat(9)}]`)
    expect(mistakesOf(levels.join('\n'))[0]).toBe('1:6 SC106')
  })
})

describe('a field', () => {
  test.each([
    ['without a type', 'max: 5', ['6:7 SC202']],
    ['of an unknown type', 'type: strng', ['6:18 SC205']],
    ['with text for a boolean', 'type: string, nullable: no', ['6:36 SC203']],
    ['with text for a number', 'type: string, max: "100"', ['6:31 SC203']],
    ['with underscores in a number', 'type: string, max: 1_000', ['6:31 SC203']],
    ['with a fraction for an integer', 'type: string, max: 1.5', ['6:31 SC203']],
    ['with a negative length', 'type: string, max: -1', ['6:31 SC207']],
    ['with a minimum above the maximum', 'type: string, min: 5, max: 4', ['6:39 SC304']],
    ['with a maximum below the minimum', 'type: string, max: 4, min: 5', ['6:39 SC304']],
    ['with `minimum` above `maximum`', 'type: integer, minimum: 5, maximum: 4', ['6:48 SC304']],
    ['with an unknown key', 'type: string, titel: 1', ['6:26 SC201']],
    ['with an option of another type', 'type: integer, max: 1', ['6:27 SC201']],
    ['read-only and write-only', 'type: string, read_only: true, write_only: true', ['6:43 SC304']],
    ['private and read-only', 'type: string, private: true, read_only: true', ['6:41 SC304']],
    ['automatic with a default', 'type: timestamp, auto: on_create, default: { function: now }', ['6:46 SC304']],
    ['automatic although it is not a timestamp', 'type: string, auto: on_create', ['6:26 SC315']],
    ['with a default of another type', 'type: integer, default: many', ['6:36 SC314']],
    ['with a default that is too long', 'type: string, max: 3, default: many', ['6:43 SC314']],
    ['with a default out of range', 'type: integer, default: 3000000000', ['6:36 SC314']],
    ['with SQL as the default of a timestamp', 'type: timestamp, default: now(); drop', ['6:38 SC314']],
    ['with an unknown function', 'type: timestamp, default: { function: today }', ['6:50 SC204']],
    ['with a function for another type', 'type: string, default: { function: now }', ['6:47 SC315']],
    ['with null as the default', 'type: string, default: null', ['6:26 SC314']],
    ['with an invalid pattern', 'type: string, pattern: "("', ['6:35 SC304']],
    ['with a pattern of catastrophic cost', 'type: string, pattern: "(a+)+$"', ['6:35 SC304']],
    ['with a pattern of 10 kB', `type: string, pattern: "${'a'.repeat(10_000)}"`, ['6:35 SC207']],
    ['with no choices', 'type: choice, choices: []', ['6:35 SC207']],
    ['with a duplicate choice', 'type: choice, choices: [a, b, a]', ['6:42 SC207']],
    ['related to a missing model', 'type: belongs_to, model: boook', ['6:37 SC306']],
    [
      'with `set_null` although it is not nullable',
      'type: belongs_to, model: book, on_delete: set_null',
      ['6:54 SC304'],
    ],
  ])('%s is rejected', (_name, options, expected) => {
    expect(mistakesOf(withField(options))).toEqual(expected)
  })

  test.each([
    [
      '10,000 choices',
      `type: choice, choices: [${Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(', ')}]`,
    ],
    ['a relation to its own model', 'type: belongs_to, model: book'],
    ['null as the default of a nullable field', 'type: string, nullable: true, default: null'],
    ['text that looks like a function as the default', 'type: string, default: now()'],
  ])('%s is accepted', (_name, options) => {
    expect(mistakesOf(withField(options))).toEqual([])
  })

  test('without a body is rejected at its name', () => {
    expect(mistakesOf(withFields('f:'))).toEqual(['6:7 SC203'])
  })

  test.each(['select', 'order', 'user', 'table', 'group', 'then', 'relations', 'f'.repeat(63)])(
    'can be named %s',
    (name) => {
      expect(mistakesOf(withFields(`${name}: { type: string }`))).toEqual([])
    },
  )

  test.each([
    'a"b',
    'a;b',
    'a--b',
    "a'b",
    'a\\b',
    'a b',
    'a.b',
    'a?',
    'a*',
    'a as b',
    '$1',
    'a\nb',
    '😀',
    'toString',
    'hasOwnProperty',
    '_a',
    '1a',
    'f'.repeat(64),
  ])('cannot be named %j', (name) => {
    expect(mistakesOf(withFields(`${JSON.stringify(name)}: { type: string }`))).toEqual(['6:7 SC206'])
  })

  test('cannot use the column of a relation', () => {
    expect(mistakesOf(withFields('a: { type: belongs_to, model: book }\na_id: { type: bigint }'))).toEqual([
      '7:7 SC310',
    ])
  })

  test.each(['ctid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax'])('cannot use the system column %s', (name) => {
    expect(mistakesOf(withFields(`${name}: { type: integer }`))).toEqual(['6:7 SC310'])
  })

  test('cannot be a relation whose column name PostgreSQL would truncate', () => {
    expect(mistakesOf(withFields(`${'f'.repeat(61)}: { type: belongs_to, model: book }`))).toEqual(['6:7 SC318'])
  })
})

describe('a model', () => {
  const models = (text: string) => `version: 1\nmodels:\n${text}`

  test.each([
    ['without fields', '  a: {}\n', ['3:3 SC202']],
    ['with an empty mapping of fields', '  a: { fields: {} }\n', ['3:16 SC207']],
    ['without a primary key', '  a: { fields: { b: { type: string } } }\n', ['3:3 SC301']],
    [
      'with two primary keys',
      '  a:\n    fields:\n      b: { type: bigint, primary_key: true }\n      c: { type: bigint, primary_key: true }\n',
      ['6:26 SC302'],
    ],
    ['with JSON as a primary key', '  a: { fields: { b: { type: json, primary_key: true } } }\n', ['3:35 SC303']],
    [
      'with a nullable primary key',
      '  a: { fields: { b: { type: bigint, primary_key: true, nullable: true } } }\n',
      ['3:56 SC303'],
    ],
    [
      'with an index on a missing field',
      '  a:\n    fields: { id: { type: bigint, primary_key: true } }\n    indexes: [[idd]]\n',
      ['5:16 SC305'],
    ],
    [
      'with a duplicate index',
      '  a:\n    fields: { id: { type: bigint, primary_key: true } }\n    indexes: [[id], [id]]\n',
      ['5:21 SC316'],
    ],
    [
      'with the table of another model',
      '  a: { fields: { id: { type: bigint, primary_key: true } } }\n  b: { table: a, fields: { id: { type: bigint, primary_key: true } } }\n',
      ['4:15 SC308'],
    ],
    [
      'with the journal as its table',
      `  a: { table: ${JOURNAL}, fields: { id: { type: bigint, primary_key: true } } }\n`,
      ['3:15 SC308'],
    ],
    [
      'named like the journal',
      `  ${JOURNAL}: { fields: { id: { type: bigint, primary_key: true } } }\n`,
      ['3:3 SC308'],
    ],
    [
      'with a table named like the index of the journal',
      `  a: { table: ${JOURNAL}_pkey, fields: { id: { type: bigint, primary_key: true } } }\n`,
      ['3:15 SC308'],
    ],
    [
      'with a former table that still exists',
      '  a: { renamed_from: b, fields: { id: { type: bigint, primary_key: true } } }\n  b: { fields: { id: { type: bigint, primary_key: true } } }\n',
      ['3:22 SC304'],
    ],
    [
      'with a former table in another spelling that still exists',
      `  a: { renamed_from: '"b"', fields: { id: { type: bigint, primary_key: true } } }\n  b: { fields: { id: { type: bigint, primary_key: true } } }\n`,
      ['3:22 SC304'],
    ],
    [
      'with a former field that still exists',
      '  a: { dropped: [b], fields: { id: { type: bigint, primary_key: true }, b: { type: date } } }\n',
      ['3:18 SC304'],
    ],
    [
      'with a former field named twice',
      '  a: { fields: { id: { type: bigint, primary_key: true }, b: { type: date, renamed_from: c } }, dropped: [c] }\n',
      ['3:107 SC316'],
    ],
    [
      'with a table name of 64 bytes',
      `  a: { table: ${'t'.repeat(64)}, fields: { id: { type: bigint, primary_key: true } } }\n`,
      ['3:15 SC318'],
    ],
  ])('%s is rejected', (_name, text, expected) => {
    expect(mistakesOf(models(text))).toEqual(expected)
  })

  test('may have circular relations', () => {
    const model = (name: string, other: string) =>
      `  ${name}: { fields: { id: { type: uuid, primary_key: true }, ${other}: { type: belongs_to, model: ${other} } } }\n`
    expect(mistakesOf(models(model('a', 'b') + model('b', 'a')))).toEqual([])
  })
})

describe('a resource', () => {
  test.each([
    ['an unknown model', '    x-a: 1\n  other: { model: boook, path: /other/ }\n', '13:19 SC306'],
    ['the path of another resource', '  other: { model: book, path: /books/ }\n', '12:31 SC309'],
    ['a filter on a missing field', '    filterable: [titel]\n', '12:18 SC305'],
    ['a filter on a private field', '    filterable: { secret: [exact] }\n', '12:19 SC311'],
    ['an unknown lookup', '    filterable: { title: [exactly] }\n', '12:27 SC204'],
    ['a lookup that the field type does not have', '    filterable: { title: [gt] }\n', '12:27 SC312'],
    ['ordering by a private field', '    orderable: [secret]\n', '12:17 SC311'],
    ['a default order by a private field', '    default_order: [-secret]\n', '12:21 SC311'],
    ['a default order that names a field twice', '    default_order: [title, -title]\n', '12:28 SC316'],
    ['an unknown operation', '    operations: [lst]\n', '12:18 SC204'],
    ['no operations', '    operations: []\n', '12:17 SC207'],
    ['`read_only` with `operations`', '    read_only: true\n    operations: [list]\n', '13:5 SC304'],
    ['a page size above its maximum', '    pagination: { max_page_size: 5 }\n', '12:34 SC304'],
    ['a page size of 0', '    pagination: { page_size: 0 }\n', '12:30 SC207'],
    ['a page size without pagination', '    pagination: { style: none, page_size: 5 }\n', '12:32 SC319'],
    [
      'a pagination style with a dialect, which has its own, but no size',
      '    dialect: json-server\n    pagination: { style: none, max_offset: 5 }\n',
      '13:19 SC319',
    ],
    ['an unknown pagination style', '    pagination: { style: pages }\n', '12:26 SC204'],
    ['a link for a field that is not a relation', '    links: { title: book-detail }\n', '12:14 SC311'],
    ['`url` without `retrieve`', '    operations: [list]\n    url: true\n', '13:5 SC320'],
    ['`concurrency` on a read-only resource', '    read_only: true\n    concurrency: required\n', '13:5 SC319'],
    [
      '`concurrency` without an operation that returns an ETag',
      '    operations: [create, destroy]\n    concurrency: required\n',
      '13:5 SC320',
    ],
    ['`idempotency_hours` without `idempotency`', '    idempotency_hours: 4\n', '12:5 SC319'],
    ['`idempotency_hours` of 0', '    idempotency: optional\n    idempotency_hours: 0\n', '13:24 SC207'],
    ['an unknown key', '    filterble: [title]\n', '12:5 SC201'],
    ['an unknown dialect', '    dialect: jsonserver\n', '12:14 SC204'],
    [
      'a pagination style that its dialect overrides',
      '    dialect: crud\n    pagination: { style: cursor }\n',
      '13:19 SC319',
    ],
    ['no count although its dialect has one', '    dialect: page\n    pagination: { count: none }\n', '13:19 SC319'],
    ['an unknown value of `unknown_query`', '    unknown_query: allow\n', '12:20 SC204'],
  ])('with %s is rejected', (_name, lines, expected) => {
    expect(mistakesOf(withResource(lines))).toEqual([expected])
  })

  test.each([
    ['a dialect for all resources', 'api: { dialect: crud }\n', ['13:19 SC319']],
    ['the plain dialect at a mount', 'mounts: [{ path: /a, dialect: plain }]\napi: { dialect: crud }\n', []],
  ])('may set a pagination style unless a dialect overrides it: %s', (_name, lines, expected) => {
    const text = withResource('    pagination: { style: limit_offset }\n')
    expect(mistakesOf(text.replace('version: 1\n', `version: 1\n${lines}`))).toEqual(expected)
  })

  test.each(['page', 'page_size', 'limit', 'offset', 'cursor', 'ordering'])(
    'cannot be filtered by a field named %s',
    (name) => {
      const text = withFields(
        `${name}: { type: string }`,
        `resources:\n  book: { model: book, path: /books/, filterable: [${name}] }\n`,
      )
      expect(mistakesOf(text)).toEqual(['8:52 SC313'])
    },
  )

  test.each(['books', '/books', 'books/', '/', '//', '/a//b/', '/{id}/', '/a b/', '/A/', '/../'])(
    'cannot have the path %j',
    (path) => {
      const text = withFields('t: { type: string }', `resources:\n  book:\n    model: book\n    path: "${path}"\n`)
      expect(mistakesOf(text)).toEqual(['10:11 SC206'])
    },
  )

  test('that creates records is rejected at a required field that bodies cannot set', () => {
    const text = withFields(
      'secret: { type: string, private: true }',
      'resources:\n  book: { model: book, path: /books/ }\n',
    )
    expect(mistakesOf(text)).toEqual(['6:31 SC317'])
    expect(mistakesOf(text.replace('/books/', '/books/, read_only: true'))).toEqual([])
  })

  test('that creates records is rejected at a key that clients choose but cannot send', () => {
    const text = (key: string) => `version: 1
models:
  book:
    fields:
      code: { type: text, primary_key: true, read_only: true${key} }
resources:
  book: { model: book, path: /books/ }
`
    expect(mistakesOf(text(''))).toEqual(['5:46 SC317'])
    expect(mistakesOf(text('').replace('text', 'uuid'))).toEqual([])
    expect(mistakesOf(text(', key: client').replace('text', 'uuid'))).toEqual(['5:46 SC317'])
  })

  test('an opaque field has no default, and a required one no create', () => {
    const text = (field: string, operations: string) => `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      words: { type: opaque, column_type: tsvector${field} }
resources:
  book: { model: book, path: /books/, operations: ${operations} }
`
    expect(mistakesOf(text('', '[list, create]'))).toEqual(['6:16 SC317'])
    expect(mistakesOf(text('', '[list, update]'))).toEqual([])
    expect(mistakesOf(text(', nullable: true', '[list, create]'))).toEqual([])
    expect(mistakesOf(text(', nullable: true, default: a', '[list]'))).toEqual(['6:69 SC304'])
    expect(mistakesOf(text(', nullable: true, write_only: true', '[list]'))).toEqual(['6:69 SC304'])
  })

  test('can only link to a resource that retrieves records', () => {
    const text = (links: string) =>
      withFields(
        'parent: { type: belongs_to, model: book }',
        `resources:\n  book: { model: book, path: /books/, links: { parent: ${links} } }\n`,
      )
    expect(mistakesOf(text('book-list'))).toEqual(['8:56 SC307'])
    expect(specOf(text('book-detail')).resources[0]?.links).toEqual({ parent: 'book-detail' })
  })
})

describe('the prefix', () => {
  test.each(['', '/api', '/api/v1'])('can be %j', (prefix) => {
    expect(mistakesOf(`version: 1\napi: { prefix: "${prefix}" }\n`)).toEqual([])
  })

  test.each(['api', '/api/', '/', '/{a}', '/a b'])('cannot be %j', (prefix) => {
    expect(mistakesOf(`version: 1\napi: { prefix: "${prefix}" }\n`)).toEqual(['2:16 SC206'])
  })
})

describe('other origins', () => {
  const withCors = (members: string) => `version: 1\napi:\n  cors: { ${members} }\n`

  test.each(['*', 'http://localhost:5173', 'https://app.example', 'https://app.example:8443', 'http://[::1]:80000'])(
    'can be %s',
    (origin) => {
      expect(mistakesOf(withCors(`origins: ["${origin}"]`))).toEqual([])
    },
  )

  test.each([
    ['no origins', 'credentials: true', '3:3 SC202'],
    ['an empty list of origins', 'origins: []', '3:20 SC207'],
    ['a host without a scheme', 'origins: [app.example]', '3:21 SC206'],
    ['a trailing slash', 'origins: ["https://app.example/"]', '3:21 SC206'],
    ['uppercase letters', 'origins: ["https://App.example"]', '3:21 SC206'],
    ['the default port of the scheme', 'origins: ["https://app.example:443"]', '3:21 SC206'],
    ['a pattern', 'origins: ["https://*.example"]', '3:21 SC206'],
    ['`null`', 'origins: ["null"]', '3:21 SC206'],
    ['every origin with credentials', 'origins: ["*"], credentials: true', '3:21 SC304'],
    ['both every origin and a listed one', 'origins: ["https://app.example", "*"]', '3:44 SC319'],
    ['an invalid header name', 'origins: ["*"], headers: ["X: 1"]', '3:37 SC206'],
  ])('with %s is rejected', (_name, members, expected) => {
    expect(mistakesOf(withCors(members))).toEqual([expected])
  })
})

describe('a file that is nested too deeply', () => {
  let project: Project | undefined

  afterEach(async () => {
    await project?.remove()
    project = undefined
  })

  test('is an error, never a crash', async () => {
    project = await makeProject({
      'flow.yaml': `${'['.repeat(5000)}${']'.repeat(5000)}`,
      'block.yaml': '- '.repeat(100_000),
      'keys.yaml': '{a: '.repeat(100_000),
    })
    const { folder } = project
    const outcomes = await Promise.all(
      ['flow', 'block', 'keys'].map((name) => runInHost(['check', '--config', `${name}.yaml`], { cwd: folder })),
    )
    for (const { code, stdout } of outcomes) {
      expect(code).toBe(1)
      expect(stdout).toContain('error[SC105]')
    }
  })
})

describe('a mount', () => {
  const mounts = (items: string, api = '') => `version: 1\n${api}mounts: ${items}\nmodels: {}\n`

  test.each([
    ['without a path', '[{ dialect: crud }]', ['2:10 SC202']],
    ['with a trailing slash', '[{ path: /a/ }]', ['2:18 SC206']],
    ['at the root', '[{ path: "" }]', ['2:18 SC206']],
    ['with an unknown dialect', '[{ path: /a, dialect: rest }]', ['2:31 SC204']],
    ['at the prefix', '[{ path: /api }]', ['2:18 SC309']],
    ['at the path of another mount', '[{ path: /a }, { path: /a, dialect: crud }]', ['2:32 SC309']],
    ['whose route names clash with those of another mount', '[{ path: /a/b }, { path: /a-b }]', ['2:34 SC309']],
  ])('%s is rejected', (_name, items, expected) => {
    expect(mistakesOf(mounts(items))).toEqual(expected)
  })

  test('may have the path of the default prefix', () => {
    expect(mistakesOf(mounts('[{ path: /api }]', 'api: { prefix: /v1 }\n'))).toEqual([])
  })
})
