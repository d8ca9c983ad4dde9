import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { checkText, mistakesOf } from '../support/config.js'
import { type Api, startApi } from '../support/api.js'

import { linksOf } from '../support/links.js'

const LONGEST = 590

const YAML = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: ${LONGEST} }
      blurb: { type: text, nullable: true }
resources:
  cursor: { model: book, path: /cursor/, filterable: { blurb: [exact] }, orderable: [title], pagination: { style: cursor, page_size: 1, count: none } }
  page: { model: book, path: /page/, filterable: { blurb: [exact, in] }, pagination: { style: page_number, page_size: 1, max_page_size: 9 } }
  window: { model: book, path: /window/, filterable: { blurb: [exact] }, pagination: { style: limit_offset, page_size: 1 } }
  whole: { model: book, path: /whole/, filterable: { blurb: [exact] }, pagination: { style: none } }
`

// Characters with the longest escapes, equal except for the last one, so that a cursor needs all of them.
const TITLES = ['\u0001', '\u0002', 'é', '😀'].map((last) => '\u0001'.repeat(LONGEST - 1) + last)
/** A quote needs no escape in a query, but takes three characters in a link. */
const BLURB = "'".repeat(600)

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const title of TITLES) await api.send('POST', '/page/', { title, blurb: BLURB })
})
afterAll(() => api.close())

/** The titles of all pages from `start` on, following the links of one relation. */
const follow = async (start: string, rel: string): Promise<readonly string[]> => {
  const titles: string[] = []
  for (let path: string | undefined = start; path !== undefined; ) {
    const response = await api.fetch(path)
    expect(response.status).toBe(200)
    for (const { title } of (await response.json()) as { title: string }[]) titles.push(title)
    path = linksOf(response)[rel]
    if (titles.length > 9) break
  }
  return titles
}

describe('clients can follow links', () => {
  test.each([
    ['a cursor', '/cursor/?ordering=title', TITLES],
    ['a cursor backwards', '/cursor/?ordering=-title', TITLES.toReversed()],
    ['a cursor with a filter', `/cursor/?ordering=title&blurb=${BLURB}`, TITLES],
    ['a page with a filter', `/page/?blurb=${BLURB}`, TITLES],
    ['a window with a filter', `/window/?blurb=${BLURB}`, TITLES],
  ])('with long values: %s', async (_what, path, titles) => {
    expect(await follow(path, 'next')).toEqual(titles)
  })

  test('backwards', async () => {
    const first = await api.fetch(`/cursor/?ordering=-title&blurb=${BLURB}`)
    const second = await api.fetch(linksOf(first)['next'] ?? '')
    expect(await follow(linksOf(second)['prev'] ?? '', 'next')).toEqual(TITLES.toReversed())
  })

  test('a query whose links would be too long is rejected, naming the limit', async () => {
    for (const path of ['cursor', 'page', 'window']) {
      const response = await api.fetch(`/${path}/?blurb=${"'".repeat(2400)}`)
      const detail = expect.stringMatching(
        /^the query is too long for the links to other pages \(72\d\d characters, at most \d+\)/,
      )
      expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ detail })])
    }
    expect((await api.fetch(`/whole/?blurb=${"'".repeat(2400)}`)).status).toBe(200)
  })

  test('links to the first and last page are omitted if four links would be too long', async () => {
    const relations = async (path: string) => Object.keys(linksOf(await api.fetch(path)))
    expect(await relations(`/page/?page=2&blurb=${BLURB}`)).toEqual(['first', 'prev', 'next', 'last'])
    const many = Array.from({ length: 90 }, () => 'x'.repeat(50)).join()
    expect(await relations(`/page/?page=2&blurb__in=${many},${BLURB}`)).toEqual(['prev', 'next'])
  })
})

describe('cursor lists can be ordered only by fields whose values fit in a link', () => {
  const cursors = (fields: string, orderable: string, style = 'cursor') => `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
${fields}
resources:
  book: { model: book, path: /books/, orderable: [${orderable}], pagination: { style: ${style} } }
`

  test.each([
    ['text without a length', '      a: { type: text }', 'a', ['8:51 SC311']],
    ['a string without a length', '      a: { type: string, nullable: true }', 'id, a', ['8:55 SC311']],
    ['a string that is too long', '      a: { type: string, max: 700 }', 'a', ['8:51 SC311']],
    [
      'strings that fit only separately',
      '      a: { type: string, max: 400 }\n      b: { type: string, max: 400 }',
      'a, b',
      [],
    ],
    ['a number with very many digits', '      a: { type: decimal, precision: 900, scale: 2 }', 'a', ['8:51 SC311']],
    ['strings that fit', '      a: { type: string, max: 300 }\n      b: { type: string, max: 250 }', 'a, b', []],
  ])('%s', (_what, fields, orderable, expected) => {
    expect(mistakesOf(cursors(fields, orderable))).toEqual(expected)
    expect(mistakesOf(cursors(fields, orderable, 'page_number'))).toEqual([])
  })

  test('the default order, too', () => {
    const text = cursors('      a: { type: text }', 'id').replace('orderable: [id]', 'default_order: [-a]')
    expect(mistakesOf(text)).toEqual(['8:55 SC311'])
  })

  test('an order by fields that are too long together is rejected in the configuration and in requests', async () => {
    const text = cursors('      a: { type: string, max: 400 }\n      b: { type: string, max: 400 }', 'a, b')
    expect(mistakesOf(text.replace('orderable: [a, b]', 'default_order: [a, -b]'))).toEqual(['9:58 SC311'])
    const lists = await startApi(text)
    const statuses = ['a', '-b', 'a,b'].map(
      async (order) => (await lists.fetch(`/api/books/?ordering=${order}`)).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 200, 400])
    await lists.close()
  })
})

describe('a key that makes cursors too long is reported once, by its own fields', () => {
  const help = 'give it a `max` (at most 500 in total for all text fields of an order), or choose another style'
  const helpForSeveral =
    'give each a `max`, at most 500 in total for all text fields of an order, or choose another style'
  const code = '{ type: text, key: client }'
  const string = '{ type: string, max: 400, key: client }'

  test.each([
    {
      lists: 'in any order',
      keys: ', orderable: [size], default_order: [size]',
      fields: { code },
      named: '`code`',
      help,
    },
    { lists: 'without an order', keys: '', fields: { code }, named: '`code`', help },
    {
      lists: 'with two long fields',
      keys: '',
      fields: { a: string, b: string },
      named: '`a`, `b` together',
      help: helpForSeveral,
    },
    {
      lists: 'with a field that is only too long together with numbers',
      keys: '',
      fields: { a: '{ type: string, max: 600, key: client }', n: '{ type: bigint, key: client }' },
      named: '`a`',
      help,
    },
    { lists: 'that do not exist', keys: ', operations: [retrieve]', fields: { code }, named: undefined, help },
  ])('of lists $lists', ({ keys, fields, named, help: expected }) => {
    const found = checkText(`version: 1
models:
  page:
    primary_key: [book, ${Object.keys(fields).join(', ')}]
    fields: { book: { type: integer, key: client }, size: { type: integer }, ${Object.entries(fields)
      .map(([name, field]) => `${name}: ${field}`)
      .join(', ')} }
resources:
  page: { model: page, path: /pages/, pagination: { style: cursor }${keys} }
`)
    const shown = Array.isArray(found)
      ? found.map(({ code: given, message, help: hint }) => [given, message, ...hint])
      : []
    expect(shown).toEqual(
      named === undefined ? [] : [['SC311', `cursors contain the key, and ${named} can make them too long`, expected]],
    )
  })
})
