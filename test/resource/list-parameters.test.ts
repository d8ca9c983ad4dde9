import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ListParameters } from '../../src/index.js'
import { loadApplication } from '../../src/internal.js'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { makeProject } from '../support/cli.js'
import { expectSound } from '../support/leaks.js'
import { linksOf } from '../support/links.js'

const PATH = '/api/snippets-viewset/'

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
  for (const [title, language] of [
    ['a', 'rust'],
    ['é', 'rust'],
    ['100%', 'c_d'],
    ["it's", 'null'],
    ['a b', 'go'],
  ]) {
    expect((await api.send('POST', PATH, { title, code: 'secret code', language })).status).toBe(201)
  }
})
afterAll(() => api.close())

const list = async (search: string) => {
  const response = await api.fetch(`${PATH}?${search}`)
  const text = await response.text()
  expectSound({ status: response.status, headers: Object.fromEntries(response.headers), body: text })
  const rows = response.status === 200 ? (JSON.parse(text) as { title: string }[]) : []
  return { status: response.status, text, titles: rows.map((row) => row.title), headers: response.headers }
}

describe('a list rejects', () => {
  test('a parameter with a space in its name, and shows the space', async () => {
    const { text } = await list('sort%20by=title')
    expect(text).toContain('this list has no parameter `sort␣by`')
  })

  test('any other unknown parameter, and shows it without what could disturb a page', async () => {
    expect((await list('a:b~c@d+e=1')).text).toContain('this list has no parameter `a:b~c@d␣e`')
    expect((await list('%3Ca%3E%26=1')).text).toContain('this list has no parameter `�a��`')
  })

  test.each([
    ...['0', '-1', '1.5', '%2B1', '01', '1e3', 'NaN', '%20', '', '1%261'].map((page) => `page=${page}`),
    ...['0', '-1', 'abc', ''].map((size) => `page_size=${size}`),
    'page=1&page=2',
    'page[]=1',
    'page[a]=1',
    'PAGE=1',
    'page%20=1',
    'foo=1',
    'where[x]=1',
    'filters[title][$startsWith]=a',
    '__proto__=1',
    'constructor=1',
    '__proto__[x]=1',
    'ordering=--title',
    'ordering=%2Btitle',
    'ordering=%20title',
    'ordering=title%20',
    'ordering=Title',
    'ordering=title,title',
    'ordering=title,-title',
    'ordering=,',
    'ordering=',
    'ordering=-',
    `ordering=${','.repeat(1000)}`,
    'ordering=id',
    'ordering=code',
    'ordering=password',
    'ordering=title;drop table snippets',
    'ordering=title%20desc',
    'ordering=title%22',
    'ordering=(select%201)',
    'ordering=1',
    'ordering=users.password',
    'ordering=*',
    'ordering=title%20nulls%20first',
    'ordering[]=title',
    'language=%00',
    'language=%ff',
    'language=%zz',
    'language=%ed%a0%80',
    'language=rust&language=go',
    'language[$ne]=x',
    'language__startswith=r',
    'language.eq=rust',
    'created_at=2020-01-01',
    'code=x',
    'code=secret%20code',
    'id=1',
    '=x',
    '=',
    Array.from({ length: 1001 }, (_, index) => `p${index}=1`).join('&'),
  ])('?%s with 400', async (search) => {
    const { status, text, headers } = await list(search)
    expect(status).toBe(400)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(text)).toMatchObject({ type: '/problems/invalid-query', status: 400 })
    expect(text.length).toBeLessThan(1000)
  })

  test('a filter on an unfilterable field, whether or not a record has the value', async () => {
    const answers = await Promise.all(['code=secret%20code', 'code=none', 'cxde=none'].map(list))
    const [match, noMatch, unknown] = answers.map(({ text }) => text.replace(/"request_id":"[^"]*"/, ''))
    expect(match).toBe(noMatch)
    expect(match).toBe(unknown?.replaceAll('cxde', 'code'))
  })
})

const VALUES = `version: 1
models:
  book: { fields: { id: { type: bigint, primary_key: true }, f: { type: text }, n: { type: bigint, nullable: true } } }
resources:
  book: { model: book, path: /books/, filterable: { f: [exact, in], n: [exact, in, isnull] }, orderable: [f, n] }
`
const parse = async (asked: ListParameters) => {
  const project = await makeProject({ 'resources.yaml': VALUES })
  const loaded = await loadApplication({ file: join(project.folder, 'resources.yaml'), env: {} })
  await project.remove()
  const [book] = loaded.ok ? loaded.app.resources : []
  if (!book) throw new Error('no resource')
  return book.parseList(asked)
}

describe('a list accepts', () => {
  test.each([
    ['', ['a', 'é', '100%', "it's", 'a b']],
    ['&&&', ['a', 'é', '100%', "it's", 'a b']],
    ['%70age=1&page_size=2', ['a', 'é']],
    ['ordering=title', ['100%', 'a', 'a b', "it's", 'é']],
    ['ordering=-title', ['é', "it's", 'a b', 'a', '100%']],
    ['language=rust', ['a', 'é']],
    ['title=100%25', ['100%']],
    ['language=%25', []],
    ['language=_', []],
    ['language=c_d', ['100%']],
    ['language=%5C', []],
    ['language=%5C%25', []],
    ['language=', []],
    ['language', []],
    ['language=null', ["it's"]],
    ['language=true', []],
    ["title=it's", ["it's"]],
    ['title=%22%20or%201=1--', []],
    ['title=$1', []],
    ['title=?', []],
    ['title=:x', []],
    ['title=e%CC%81', []],
    ['title=%C3%A9', ['é']],
    ['title=a+b', ['a b']],
    ['title=a%20b', ['a b']],
    [`title=${'x'.repeat(101)}`, []],
    ['page=2147483648', []],
    ['page=9223372036854775807', []],
    ['page_size=1000000', ['a', 'é', '100%', "it's", 'a b']],
  ])('?%s and returns %j', async (search, titles) => {
    expect(await list(search)).toMatchObject({ status: 200, titles })
  })

  test('its parameters in any order', async () => {
    const parts = ['page=1', 'page_size=10', 'ordering=-title', 'language=rust']
    const orders = parts.map((_, index) => [...parts.slice(index), ...parts.slice(0, index)].join('&'))
    const answers = await Promise.all([...orders, parts.toReversed().join('&')].map(list))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('its own links, whatever the filter contains', async () => {
    for (const title of ['&x=#%', '😀 +', 'a&page=9']) {
      for (let n = 0; n < 2; n++) await api.send('POST', PATH, { title, code: 'c', language: 'link' })
      const search = new URLSearchParams({ title, page_size: '1', language: 'link' }).toString()
      const { next = '' } = linksOf(await list(search))
      expect(next.startsWith(PATH)).toBe(true)
      expect(await list(next.slice(PATH.length + 1))).toMatchObject({ titles: [title] })
    }
  })
})

describe("a handler's query by values", () => {
  test.each([
    [
      { f: 'a,b\\c', f__in: ['a,b', 'c\\', ''] },
      { f: 'a,b\\c', f__in: ['a,b', 'c\\', ''] },
    ],
    [
      { n: 1n, f: '&=?#+ %', n__in: [1n, 9007199254740993n] },
      { n: 1n, f: '&=?#+ %', n__in: [1n, 9007199254740993n] },
    ],
    [{ f: undefined, n__isnull: true }, { n__isnull: true }],
  ])('is parsed to the same values: %p', async (asked, meant) => {
    const { plan } = await parse(asked)
    const where = plan.where.map(({ field, lookup, value }) => [
      lookup.name === 'exact' ? field.name : `${field.name}__${lookup.name}`,
      value,
    ])
    expect(Object.fromEntries(where)).toEqual(meant)
  })

  test('keeps their order', async () => {
    const { plan } = await parse({ ordering: ['-f', 'n'], page: 3, page_size: 7 })
    expect(plan.order.map(({ field, descending }) => [field.name, descending])).toEqual([
      ['f', true],
      ['n', false],
      ['id', false],
    ])
    expect([plan.start, plan.limit]).toEqual([{ offset: 14 }, 7])
  })

  test('is rejected if it is invalid', async () => {
    await expect(parse({ pgae: 2 })).rejects.toThrow('this list has no parameter `pgae`')
  })
})

test('client input never reaches the prototype of objects', () => {
  expect(Object.keys(Object.prototype)).toEqual([])
})
