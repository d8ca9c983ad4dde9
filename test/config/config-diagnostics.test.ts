import { describe, expect, test } from '@jest/globals'
import {
  type Diagnostic,
  DIAGNOSTICS,
  renderDiagnostic,
  renderDiagnostics,
  toGithub,
  toJson,
  toLine,
} from '../../src/config/diagnostic.js'
import { exact } from '../../src/lookups/exact.js'
import { nearestWord } from '../../src/config/schema/synonyms.js'
import { nearest } from '../../src/config/words.js'
import { checkText, mistakesOf, specOf } from '../support/config.js'

const BROKEN = `version: 2
apii: {}
models:
  author:
    fields:
      id: { type: bigint, primary_key: true, default: 5 }
      name: { type: str, max: 100 }
      bio: { type: text, max_length: 10, minimum: 3 }
      email: { type: string, min: 9, max: 5 }
      born:
  book:
    table: author
    fields:
      title: { type: string, read_only: true, write_only: true }
      author: { type: belongs_to, model: autor, on_delete: set_null }
      pages: { type: integer, default: many }
      Bad Name: { type: string }
    indexes:
      - [titel]
resources:
  author:
    model: author
    path: authors
    filterable: [nam]
    operations: [list, retreive]
    pagination: { page_size: 200 }
  book:
    model: bok
    path: /books/
  other:
    model: book
    path: /books/
    links: { author: author-detail, title: x }
`

const diagnosticsOf = (text: string): Diagnostic[] => {
  const result = checkText(text)
  return Array.isArray(result) ? result : []
}

describe('a configuration with many mistakes', () => {
  test('reports all of them at once, each with its line and column, in file order', () => {
    expect(mistakesOf(BROKEN)).toEqual([
      '1:10 SC204',
      '2:1 SC201',
      '6:46 SC303',
      '7:21 SC205',
      '8:26 SC201',
      '8:42 SC201',
      '9:43 SC304',
      '10:7 SC203',
      '12:12 SC308',
      '14:47 SC304',
      '15:42 SC306',
      '15:60 SC304',
      '16:40 SC314',
      '17:7 SC206',
      '19:10 SC305',
      '23:11 SC206',
      '24:18 SC305',
      '25:24 SC204',
      '26:30 SC304',
      '28:12 SC306',
      '32:11 SC309',
      '33:37 SC311',
    ])
  })

  test.each([
    ['apii', '`api`'],
    ['str', '`string`'],
    ['max_length', '`max`'],
    ['autor', '`author`'],
    ['titel', '`title`'],
    ['nam', '`name`'],
    ['retreive', '`retrieve`'],
    ['bok', '`book`'],
  ])('suggests the nearest name to `%s`', (given, near) => {
    const found = diagnosticsOf(BROKEN).find(({ message }) => message.includes(`\`${given}\``))
    expect(found?.help[0]).toContain(near)
  })

  test('lists the known names if none is similar', () => {
    const [found] = diagnosticsOf('version: 1\nwhatever: 1\n')
    expect(found?.help).toEqual([
      'known: `version`, `api`, `auth`, `settings`, `plugins`, `database`, `models`, `dropped`, `resources`, `mounts`',
    ])
  })

  test('does not report consequential errors', () => {
    const text = `version: 1
models:
  book:
    fields:
      id: { type: bigint, primry_key: true }
      title: { type: strng }
resources:
  book: { model: book, path: /books/, filterable: [title], orderable: [title] }
`
    expect(mistakesOf(text)).toEqual(['5:27 SC201', '6:22 SC205'])
  })
})

test('names of JavaScript objects and mappings in lists are mistakes like any other', () => {
  const text = `version: 1
auth: { roles: { names: [r] }, development: { ann: {} } }
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: text, nullable: constructor }
      parent: { type: belongs_to, model: book, nullable: true }
resources:
  book:
    model: book
    path: /books/
    expand: [{ parent: {} }]
    access: [{ to: r, may: toString }]
`
  expect(mistakesOf(text)).toEqual(['7:38 SC203', '13:14 SC203'])
  expect(JSON.stringify(diagnosticsOf(text))).not.toContain('native code')
})

test.each([
  { line: 'required: true', help: 'remove it: fields are required unless they have `nullable: true`' },
  { line: 'not_null: true', help: 'remove it: fields are required unless they have `nullable: true`' },
  { line: 'optional: true', help: 'the key for this is called `nullable` here' },
  { line: 'unique: "true"', help: 'write it without quotes: `true`' },
])('`$line` of a field has the help "$help"', ({ line, help }) => {
  const text = `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: text, ${line} }
resources: { book: { model: book, path: /books/ } }
`
  expect(diagnosticsOf(text)).toMatchObject([{ help: [help] }])
})

describe('an unknown name', () => {
  test.each<[given: string, meant: readonly string[]]>([
    ['str', ['string']],
    ['varchar', ['string']],
    ['int', ['integer']],
    ['int4', ['integer']],
    ['int8', ['bigint']],
    ['long', ['bigint']],
    ['bigserial', ['bigint']],
    ['serial', ['integer', 'bigint']],
    ['number', ['integer', 'decimal', 'float']],
    ['double', ['float']],
    ['numeric', ['decimal']],
    ['datetime', ['timestamp']],
    ['timestamptz', ['timestamp']],
    ['bool', ['boolean']],
    ['enum', ['choice', 'choices']],
    ['options', ['choices']],
    ['select', ['choice']],
    ['object', ['json']],
    ['jsonb', ['json']],
    ['guid', ['uuid']],
    ['ref', ['belongs_to']],
    ['relation', ['belongs_to']],
    ['foreign_key', ['belongs_to']],
    ['required', ['nullable']],
    ['optional', ['nullable']],
    ['null', ['nullable']],
    ['max_length', ['max']],
    ['maxLength', ['max']],
    ['maximum', ['max']],
    ['min_length', ['min']],
    ['minLength', ['min']],
    ['minimum', ['min']],
    ['default_value', ['default']],
    ['primary', ['primary_key']],
    ['pk', ['primary_key']],
    ['values', ['choices']],
    ['readonly', ['read_only']],
    ['filters', ['filterable']],
    ['ordering', ['default_order', 'orderable']],
    ['order_by', ['default_order']],
    ['sortable', ['orderable']],
    ['searchable', ['search']],
    ['search_fields', ['search']],
    ['sparse', ['sparse_fields']],
    ['include', ['expand']],
    ['populate', ['expand']],
    ['embed', ['expand']],
    ['sparse_fieldsets', ['sparse_fields']],
    ['url_path', ['path']],
    ['error_messages', ['messages']],
    ['actions', ['operations']],
  ])('is %s in other tools, and our name is suggested', (given, meant) => {
    for (const name of meant) expect(nearestWord(given, ['zzzzzzzzzzzz', name])).toBe(name)
    expect(nearestWord(given, meant)).toBe(meant[0])
    expect(nearestWord(given, ['zzzzzzzzzzzz'])).toBeUndefined()
  })

  test.each<[given: string, known: readonly string[], found: string | undefined]>([
    ['', ['a'], undefined],
    ['a', ['b'], 'b'],
    ['ab', ['cd'], undefined],
    ['titel', ['tile', 'title'], 'title'],
    ['tilte', ['title'], 'title'],
    ['ittle', ['title'], 'title'],
    ['titlle', ['titles', 'title'], 'title'],
    ['eltit', ['title'], undefined],
    ['TITLE', ['title'], 'title'],
    ['abcdef', ['abcxyf'], 'abcxyf'],
    ['abcdef', ['abxyzf'], undefined],
    ['abcde', ['axcye'], undefined],
    ['created', ['created_at', 'created_on'], undefined],
    ['create_at', ['updated_at', 'created_at'], 'created_at'],
    ['a'.repeat(120), [`${'a'.repeat(119)}b`], `${'a'.repeat(119)}b`],
    ['a'.repeat(121), [`${'a'.repeat(120)}b`], undefined],
  ])('is compared with the known names: %s', (given, known, found) => {
    expect(nearest(given, known)).toBe(found)
  })
})

describe('a mapping instead of a name', () => {
  const withResource = (rest: string) => `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string }
      author: { type: belongs_to, model: book }
resources:
  book:
    model: book
    path: /books/
    ${rest}
`

  test.each([
    ['filterable: [title, { a: 1 }]', '12:25 SC203'],
    ['filterable: { title: [exact, {}] }', '12:34 SC203'],
    ['orderable: [{}]', '12:17 SC203'],
    ['default_order: [{}]', '12:21 SC203'],
    ['links: { author: {} }', '12:22 SC203'],
  ])('is an error at its position in `%s`', (rest, mistake) => {
    expect(mistakesOf(withResource(rest))).toContain(mistake)
  })
})

describe('a number of a field', () => {
  test.each([
    {
      field: '{ type: bigint, default: "9223372036854775807" }',
      says: 'SC314 25 the default of `n` must be an integer; got the text `9223372036854775807`; a default must be within ±9007199254740991',
    },
    {
      field: '{ type: integer, default: "92" }',
      says: 'SC314 26 the default of `n` must be an integer; got the text `92`; without quotes it is a number: `92`',
    },
    {
      field: '{ type: integer, default: "007" }',
      says: 'SC314 26 the default of `n` must be an integer; got the text `007`; without quotes it is a number: `7`',
    },
    {
      field: '{ type: integer, default: "99999999999" }',
      says: 'SC314 26 the default of `n` must be an integer; got the text `99999999999`',
    },
    {
      field: '{ type: float, default: "1.5" }',
      says: 'SC314 24 the default of `n` must be a number that a 64-bit float can hold; got the text `1.5`; without quotes it is a number: `1.5`',
    },
    {
      field: '{ type: string, max: 3, default: 1234 }',
      says: 'SC314 33 the default of `n` must be a string; got `1234`',
    },
    {
      field: '{ type: decimal, precision: 4, scale: 2, default: 1.5 }',
      says: 'SC314 50 the default of `n` must be a decimal string such as "12.50"; got `1.5`; in quotes it is text: `"1.5"`',
    },
    {
      field: '{ type: integer, minimum: -99999999999, maximum: 9 }',
      says: 'SC304 26 -99999999999 is not between -2147483648 and 2147483647',
    },
    {
      field: '{ type: integer, maximum: 3, minimum: 5 }',
      says: 'SC304 38 `minimum` is 5, which is more than `maximum`, 3',
    },
  ])('that is invalid is reported where it stands: $field', ({ field, says }) => {
    const text = `version: 1\nmodels:\n  book:\n    fields: { id: { type: bigint, primary_key: true }, n: ${field} }\nresources: {}\n`
    const start = text.split('\n')[3]?.indexOf(field) ?? 0
    const found = diagnosticsOf(text).map(
      ({ code, range, message, help }) =>
        `${code} ${range.start.column - 1 - start} ${[message, ...(help ?? [])].join('; ')}`,
    )
    expect(found).toEqual([says])
  })
})

describe('a diagnostic', () => {
  const text = 'version: 1\nmodels:\n  book:\n    fields:\n      id: { type: bigint, primary_kye: true }\n'
  const [diagnostic] = diagnosticsOf(text)
  const lines = text.split('\n')

  test('shows the lines around it, with carets under the error', () => {
    expect(
      renderDiagnostic(diagnostic as Diagnostic, lines),
    ).toBe(`error[SC201]: \`primary_kye\` is not a key of a \`bigint\` field
 --> resources.yaml:5:27
  |
4 |     fields:
5 |       id: { type: bigint, primary_kye: true }
  |                           ^^^^^^^^^^^
6 |
  |
  = help: a key with a similar name exists: \`primary_key\``)
  })

  test('is coloured only by the given style', () => {
    const plain = renderDiagnostic(diagnostic as Diagnostic, lines)
    const styled = renderDiagnostic(diagnostic as Diagnostic, lines, (role, part) => `<${role}>${part}</${role}>`)
    expect(styled).toContain('<error>error[SC201]</error>')
    expect(styled.replace(/<\/?\w+>/g, '')).toBe(plain)
  })

  test('shows tabs and control characters, with the caret under its column', () => {
    const [tab] = diagnosticsOf('a:\n\tb: 1\n')
    expect(renderDiagnostic(tab as Diagnostic, ['a:', '\tb\u001b[31m: 1', ''])).toContain('2 | →b␛[31m: 1\n  | ^')
  })

  test('has its carets under the error where characters before it are wide', () => {
    const [found] = diagnosticsOf('version: 1\n"x-日本 ✅": {a: &名前 b}\n')
    const frame = renderDiagnostic(found as Diagnostic, ['version: 1', '"x-日本 ✅": {a: &名前 b}'])
    expect(frame).toContain('2 | "x-日本 ✅": {a: &名前 b}\n  |                  ^^^^^\n')
  })

  test('is shortened if its line is very long', () => {
    const [found] = diagnosticsOf(`version: 1\n"x-note": "${'a'.repeat(5000)}\n`)
    const frame = renderDiagnostic(found as Diagnostic, ['version: 1', `"x-note": "${'a'.repeat(5000)}`])
    expect(Math.max(...frame.split('\n').map((line) => line.length))).toBeLessThan(140)
  })

  test('counts columns in characters, including astral ones', () => {
    expect(mistakesOf('version: 1\n"x-😀😀": {a: &a b}\n')).toEqual(['2:13 SC106'])
  })

  test('has a JSON form with its range', () => {
    expect(toJson([diagnostic as Diagnostic])).toMatchObject({
      schemaVersion: 1,
      ok: false,
      errors: 1,
      warnings: 0,
      diagnostics: [
        {
          code: 'SC201',
          severity: 'error',
          file: 'resources.yaml',
          range: { start: { line: 5, column: 27, offset: 65 }, end: { line: 5, column: 38, offset: 76 } },
          help: ['a key with a similar name exists: `primary_key`'],
        },
      ],
    })
    expect(toJson([])).toEqual({ schemaVersion: 1, ok: true, errors: 0, warnings: 0, diagnostics: [] })
  })

  test('has a one-line form for logs, and one for workflow annotations', () => {
    expect(toLine(diagnostic as Diagnostic)).toBe(
      'resources.yaml:5:27: `primary_kye` is not a key of a `bigint` field (SC201)',
    )
    expect(toGithub({ ...(diagnostic as Diagnostic), message: 'a\n100%', file: 'a,b:c' })).toBe(
      '::error file=a%2Cb%3Ac,line=5,col=27,endLine=5,endColumn=38,title=SC201::a%0A100%25%0Aa key with a similar name exists: `primary_key`',
    )
  })

  test('is omitted and counted above the limit', () => {
    const many = diagnosticsOf(`version: 1\n${Array.from({ length: 60 }, (_, index) => `k${index}: 1\n`).join('')}`)
    const text = renderDiagnostics(many, 'version: 1')
    expect(text.match(/error\[SC201\]/g)).toHaveLength(50)
    expect(text).toMatch(/\n\nand 10 more\n\nresources\.yaml: 60 errors$/)
  })

  test('has a code with an explanation', () => {
    for (const { code } of diagnosticsOf(BROKEN)) expect(DIAGNOSTICS[code].explanation).not.toBe('')
  })
})

describe('a diagnostic for people', () => {
  const at = (line: number, column: number, to = column + 1, end = line) => ({
    start: { line, column, offset: 0 },
    end: { line: end, column: to, offset: 0 },
  })
  const given = (more: Partial<Diagnostic>): Diagnostic => ({
    code: 'SC201',
    severity: 'error',
    message: 'no',
    file: 'a.yaml',
    range: at(1, 1),
    help: [],
    ...more,
  })

  test.each<[what: string, diagnostic: Partial<Diagnostic>, lines: readonly string[], frame: readonly string[]]>([
    ['the only line', {}, ['abc'], ['error[SC201]: no', ' --> a.yaml:1:1', '  |', '1 | abc', '  | ^']],
    [
      'a warning with a label and help',
      { severity: 'warning', range: at(2, 2, 4), label: 'he\tre', help: ['one\u0007', 'two'] },
      ['a', 'bcde', ''],
      [
        'warning[SC201]: no',
        ' --> a.yaml:2:2',
        '  |',
        '1 | a',
        '2 | bcde',
        '  |  ^^ he→re',
        '3 |',
        '  |',
        '  = help: one␇',
        '  = help: two',
      ],
    ],
    [
      'line 9 before line 10',
      { range: at(9, 1) },
      [...'abcdefghij'],
      ['error[SC201]: no', '  --> a.yaml:9:1', '   |', ' 8 | h', ' 9 | i', '   | ^', '10 | j'],
    ],
    [
      'a range of several lines, marked on its first line',
      { range: at(1, 3, 2, 3) },
      ['ab cd  ', 'e', 'f'],
      ['error[SC201]: no', ' --> a.yaml:1:3', '  |', '1 | ab cd', '  |   ^^^', '2 | e'],
    ],
    [
      'a range beyond its line',
      { range: at(1, 2, 99) },
      ['abc'],
      ['error[SC201]: no', ' --> a.yaml:1:2', '  |', '1 | abc', '  |  ^^'],
    ],
    [
      'a position after the end of the file',
      { range: at(2, 4) },
      ['abc'],
      ['error[SC201]: no', ' --> a.yaml:2:4', '  |', '1 | abc', '2 |', '  |    ^'],
    ],
    [
      'invisible characters',
      { message: 'a\u001b\u200b\u202e\ufeff\u0085b' },
      ['\tx\u0000y\u007f'],
      ['error[SC201]: a␛����b', ' --> a.yaml:1:1', '  |', '1 | →x␀y�', '  | ^'],
    ],
    [
      'a whole line of 120 wide characters',
      { range: at(1, 120) },
      ['😀'.repeat(120)],
      ['error[SC201]: no', ' --> a.yaml:1:120', '  |', `1 | ${'😀'.repeat(120)}`, `  | ${' '.repeat(238)}^^`],
    ],
    [
      'the start of a long line',
      { range: at(1, 61) },
      ['a'.repeat(121)],
      ['error[SC201]: no', ' --> a.yaml:1:61', '  |', `1 | ${'a'.repeat(120)}…`, `  | ${' '.repeat(60)}^`],
    ],
    [
      'the middle of a long line and the start of the next one',
      { range: at(1, 162, 164) },
      [`${'a'.repeat(160)}bcde${'f'.repeat(160)}`, 'g'.repeat(130)],
      [
        'error[SC201]: no',
        ' --> a.yaml:1:162',
        '  |',
        `1 | …${'a'.repeat(59)}bcde${'f'.repeat(57)}…`,
        `  | ${' '.repeat(61)}^^`,
        `2 | ${'g'.repeat(120)}…`,
      ],
    ],
    [
      'the end of a long line',
      { range: at(1, 130, 131) },
      [`${'a'.repeat(129)}b`],
      ['error[SC201]: no', ' --> a.yaml:1:130', '  |', `1 | …${'a'.repeat(60)}b`, `  | ${' '.repeat(61)}^`],
    ],
  ])('shows %s', (_what, more, lines, frame) => {
    expect(renderDiagnostic(given(more), lines).split('\n')).toEqual(frame)
  })

  test('is coloured in parts', () => {
    const styled = renderDiagnostic(
      given({ severity: 'warning', label: 'l', help: ['h'] }),
      ['a', 'b'],
      (role, part) => (role === 'gutter' ? '' : `<${role} ${part}>`),
    )
    expect(styled.split('\n')).toEqual([
      '<warning warning[SC201]>: <message no>',
      '  a.yaml:1:1',
      '',
      ' a',
      ' <warning ^ l>',
      ' b',
      '',
      ' <help help:> h',
    ])
  })

  test.each<[severities: readonly Diagnostic['severity'][], summary: string]>([
    [[], ': 0 errors'],
    [['error'], 'a.yaml: 1 error'],
    [['error', 'error'], 'a.yaml: 2 errors'],
    [['warning'], 'a.yaml: 0 errors, 1 warning'],
    [['warning', 'error', 'warning'], 'a.yaml: 1 error, 2 warnings'],
  ])('precedes the total: %j', (severities, summary) => {
    const all = severities.map((severity) => given({ severity }))
    expect(renderDiagnostics(all, 'a').split('\n\n').at(-1)).toBe(summary)
    expect(renderDiagnostics(all, 'a')).not.toContain('more')
    expect(toJson(all)).toEqual({
      schemaVersion: 1,
      ok: !severities.includes('error'),
      errors: severities.filter((severity) => severity === 'error').length,
      warnings: severities.filter((severity) => severity === 'warning').length,
      diagnostics: all,
    })
  })

  test('may have another last line, and fewer frames', () => {
    const text = renderDiagnostics([given({}), given({}), given({})], 'a', { limit: 1, summary: 'all' })
    expect(text).toBe('error[SC201]: no\n --> a.yaml:1:1\n  |\n1 | a\n  | ^\n\nand 2 more\n\nall')
  })

  test('has a one-line form without control characters for logs', () => {
    expect(toLine(given({ message: 'a\nb', range: at(3, 4) }))).toBe('a.yaml:3:4: a␊b (SC201)')
    expect(toGithub(given({ severity: 'warning', message: 'a\r\nb', file: '50%,a:b' }))).toBe(
      '::warning file=50%25%2Ca%3Ab,line=1,col=1,endLine=1,endColumn=2,title=SC201::a%0D%0Ab',
    )
  })
})

describe('a valid configuration', () => {
  const spec = specOf(`version: 1
models:
  author:
    fields:
      id: { type: bigint, primary_key: true }
      full_name: { type: string }
  book:
    fields:
      key: { type: uuid, primary_key: true }
      author: { type: belongs_to, model: author, nullable: true, on_delete: set_null }
      state: { type: choice, choices: [draft, done], default: draft }
      seen_at: { type: timestamp, default: { function: now } }
      made_at: { type: timestamp, auto: on_create }
    indexes:
      - { fields: [author, state], unique: true }
resources:
  book:
    model: book
    path: /books/
    filterable: [author]
    default_order: [-seen_at]
    read_only: true
    links: { author: author-detail }
  author: { model: author, path: /authors/ }
`)
  const [author, book] = spec.models
  const [books] = spec.resources
  const fieldOf = (name: string) => book?.fields.find((field) => field.name === name)

  test('has every default filled in', () => {
    expect(spec).toMatchObject({ api: { prefix: '/api', title: 'API' }, settings: {}, plugins: [] })
    expect(author).toMatchObject({ table: 'author', indexes: [] })
    expect(author?.fields[1]).toMatchObject({ label: 'Full name', nullable: false, readOnly: false, private: false })
    expect(spec.resources[1]).toMatchObject({
      path: '/api/authors/',
      operations: ['list', 'create', 'retrieve', 'update', 'partial_update', 'destroy'],
      pagination: {
        style: expect.objectContaining({ name: 'page_number' }),
        pageSize: 10,
        maxPageSize: 100,
        count: 'capped',
        envelope: 'none',
      },
      unknownQuery: 'refuse',
      url: false,
      defaultOrder: [],
    })
  })

  test('has every reference resolved', () => {
    expect(fieldOf('author')).toMatchObject({
      column: 'author_id',
      target: { model: 'author', table: 'author', column: 'id', onDelete: 'set_null' },
    })
    expect(book?.key).toEqual([fieldOf('key')])
    const plain = { method: 'btree', ignoreCase: [], where: [] }
    expect(book?.indexes).toEqual([{ columns: ['author_id', 'state'], unique: true, ...plain }])
    expect(books?.model).toBe(book)
    expect(books?.filters).toEqual([{ name: 'author', related: undefined, field: fieldOf('author'), lookups: [exact] }])
    expect(books?.defaultOrder).toEqual([{ field: fieldOf('seen_at'), descending: true }])
    expect(books).toMatchObject({ operations: ['list', 'retrieve'], links: { author: 'author-detail' } })
  })

  test('marks server-set fields, and has the defaults of others', () => {
    expect(fieldOf('key')).toMatchObject({ primaryKey: true, readOnly: true })
    expect(fieldOf('made_at')).toMatchObject({ auto: 'on_create', readOnly: true })
    expect(fieldOf('state')?.default).toEqual({ literal: 'draft' })
    expect(fieldOf('seen_at')?.default).toEqual({ call: 'now' })
  })

  test('is deeply frozen', () => {
    for (const part of [
      spec,
      spec.api,
      spec.settings,
      spec.models,
      book,
      book?.fields,
      fieldOf('state'),
      books?.pagination,
    ]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })
})
