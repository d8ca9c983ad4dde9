import { expect, test } from '@jest/globals'
import { checkText } from '../support/config.js'

const LINES = `version: 1
models:
  author:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 100 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      isbn:
        type: string
        max: 13
      author: { type: belongs_to, model: author }
    indexes:
      - [title, id]
resources:
  authors: { model: author, path: /authors/ }
  books:
    model: book
    path: /books/
    filterable: [title]`.split('\n')

const saidOf = (text: string): readonly string[] => {
  const result = checkText(text)
  const diagnostics = Array.isArray(result) ? result : []
  return diagnostics.map(({ range: { start }, message }) => `${start.line}:${start.column} ${message}`)
}

test('the file without mistakes is valid', () => {
  expect(saidOf(LINES.join('\n'))).toEqual([])
})

test.each([
  ['an unclosed brace', 10, '      title: { type: string, max: 100', '10:14 this `{` is never closed'],
  [
    'an unclosed brace at the end of a mapping',
    18,
    '  authors: { model: author, path: /authors/',
    '18:12 this `{` is never closed',
  ],
  ['an unclosed brace in the last line', 22, '    filterable: { title: [exact]', '22:17 this `{` is never closed'],
  ['an unclosed bracket', 16, '      - [title, id', '16:9 this `[` is never closed'],
  ['a bracket closed by a brace', 16, '      - [title, id}', '16:19 `}` does not close the `[` before it'],
  [
    'a brace closed by a bracket',
    10,
    '      title: { type: string, max: 100 ]',
    '10:39 `]` does not close the `{` before it',
  ],
  [
    'an unmatched closing brace',
    10,
    '      title: { type: string, max: 100 }}',
    '10:40 this closing bracket has no opening bracket',
  ],
  [
    'an unquoted brace inside text',
    6,
    '      name: { type: string, pattern: ^{a$ }',
    '6:39 `{` follows text that is not quoted',
  ],
  ['an unquoted brace as a value', 12, '        label: {', '12:16 this `{` is never closed'],
  [
    'an unquoted brace at the start of text',
    13,
    '        label: {name} of it',
    '13:23 unexpected text after the end of a value',
  ],
  ['a tab', 12, '\t\ttype: string', '12:1 tabs cannot be used for indentation'],
  ['a missing colon', 7, '  book', '7:3 this is neither a key nor a value'],
  ['a missing space after a colon', 12, '        type:string', '12:9 this is neither a key nor a value'],
  ['a missing comma', 10, '      title: { type: string max: 100 }', '10:22 a key follows a value without a comma'],
  ['two commas', 10, '      title: { type: string,, max: 100 }', '10:29 a value is missing before this comma'],
  ['a line indented by one space too many', 12, '       type: string', '12:14 a key cannot follow a value here'],
  ['a line indented by one space too few', 13, '       max: 13', '13:1 the indentation does not match the lines above'],
  ['a key indented like its mapping', 8, '  fields:', '15:1 the indentation does not match the lines above'],
  ['an unclosed double quote', 10, '      title: { type: string, label: "Title }', '10:37 this quote is never closed'],
  ['an unclosed single quote', 13, "        label: 'Title", '13:16 this quote is never closed'],
  ['an apostrophe in single quotes', 13, "        label: 'It's'", '13:20 unexpected text after the end of a value'],
  ['a colon in text', 13, '        label: Note: it is', '13:16 a key cannot follow a value here'],
  ['a reserved character', 13, '        label: @a', '13:16 text cannot start with this character'],
  [
    'a backslash in double quotes',
    13,
    '        pattern: "^\\d+$"',
    '13:20 this is not a valid escape sequence in double quotes',
  ],
  [
    'an equals sign instead of a colon',
    6,
    '      name = { type: string, max: 100 }',
    '6:22 a key cannot follow a value here',
  ],
  ['two keys on one line', 12, '        type: string max: 13', '12:15 a key cannot follow a value here'],
  ['a merge conflict marker', 6, '<<<<<<< HEAD', '6:1 this is neither a key nor a value'],
])('%s is reported once, at its position', (_slip, line, text, said) => {
  expect(saidOf(LINES.with(line - 1, text).join('\n'))).toEqual([said])
})

test('tabs in every line are reported once', () => {
  const tabs = LINES.map((line) => line.replace(/^ +/, (spaces) => '\t'.repeat(spaces.length / 2)))
  expect(saidOf(tabs.join('\n'))).toEqual(['3:1 tabs cannot be used for indentation'])
})

test('a stray bracket between valid brackets is one error, however long the file is', () => {
  const fields = Array.from({ length: 100 }, (_, at) => `      f${at}: { type: string, label: a {b }`)
  expect(saidOf([...LINES.slice(0, 5), ...fields].join('\n'))).toEqual(['6:36 `{` follows text that is not quoted'])
})

test('forbidden syntax is reported each time, up to the first syntax error', () => {
  expect(saidOf('x-a: &a 1\nx-b: *a\nx-c: [\nx-d: *a\n')).toEqual([
    '1:6 anchors are not allowed',
    '2:6 aliases are not allowed',
    '3:6 this `[` is never closed',
  ])
})
