import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { checkPattern, matcherOf, type Pattern } from '../../src/fields/patterns/pattern.js'
import { type Api, startApi } from '../support/api.js'

/** Quick to write, slow for a matcher that tries every start or every way. */
const HOSTILE = {
  finding: { pattern: '[0-9]+-[0-9]+', unit: '1' },
  trailing: { pattern: '\\\\s+$', unit: ' ' },
  pair: { pattern: 'a*b', unit: 'a' },
  email: { pattern: '[^@]+@[^@]+$', unit: 'a' },
  counted: { pattern: '[a-z]{1,60}@', unit: 'ab' },
  words: { pattern: '([a-z]+ )*[0-9]', unit: 'ab ' },
} as const
const NAMES = Object.keys(HOSTILE) as (keyof typeof HOSTILE)[]
const CONFIG = `version: 1
api: { prefix: "" }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      plain: { type: text, nullable: true }
      short: { type: string, max: 13, pattern: "[0-9]+-[0-9]+", nullable: true }
${NAMES.map((name) => `      ${name}: { type: text, pattern: "${HOSTILE[name].pattern}", nullable: true }`).join('\n')}
resources:
  notes: { model: note, path: /notes/, bulk: [create] }
`

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG, { limits: { handlerTimeout: 120_000 } })
})
afterAll(() => api.close())

/** The processor time of a request that is answered with 400, in milliseconds. */
const costOf = async (body: unknown): Promise<number> => {
  const before = process.cpuUsage()
  const response = await api.send('POST', '/notes/', body)
  const { user, system } = process.cpuUsage(before)
  expect((await response.text()).slice(0, 100)).toMatch('/problems/validation')
  return (user + system) / 1000
}

const best = async (body: unknown): Promise<number> =>
  Math.min(await costOf(body), await costOf(body), await costOf(body))

describe('matching a text against a pattern', () => {
  const units = [...NAMES.map((name) => [name, HOSTILE[name].unit] as const), ['short', '1'] as const]
  test.each(units)('of the field %s takes linear time', async (name, unit) => {
    const text = (length: number) => `${unit.repeat(length / unit.length)}!`
    const small = await best({ [name]: text(10_200) })
    const large = await best({ [name]: text(102_000) })
    expect(large).toBeLessThan(10 * small + 200)
  })

  test('is as cheap among many records', async () => {
    const alone = await best({ finding: '1'.repeat(900_000) })
    const many = await best(Array.from({ length: 9 }, () => ({ finding: '1'.repeat(100_000) })))
    expect(many).toBeLessThan(10 * alone + 200)
  })

  test('does not report the pattern for a text of the wrong length', async () => {
    const response = await api.send('POST', '/notes/', { short: '1'.repeat(14) })
    expect(await response.json()).toMatchObject({
      errors: { short: 'Short must be at most 13 characters' },
    })
  })

  test('stores a match of any length', async () => {
    const text = `${'1'.repeat(500_000)}-1`
    const response = await api.send('POST', '/notes/', { finding: text, short: '12-34' })
    const { finding, short } = (await response.json()) as { readonly finding: string; readonly short: string }
    expect([response.status, finding === text, short]).toEqual([201, true, '12-34'])
  })
})

const CHARACTERS = ['a', 'b', '-', '0', ' ', '\n', 'é', '😀', '\u2028']
const ATOMS = [
  ...[
    'a',
    'b',
    '-',
    '0',
    ' ',
    'é',
    '😀',
    '.',
    '^',
    '$',
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '\\n',
    '\\u2028',
    '\\u{1f600}',
  ],
  ...['[ab]', '[^a]', '[a-b0]', '[^\\d]', '[\\w-]', '[^😀é]', '[\\s]', '(?:a)', '\\-', '\\.'],
]
const QUANTIFIERS = ['', '', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,3}', '{2,}']
const { pattern: anyPattern } = fc.letrec<{ pattern: string; sequence: string; item: string; atom: string }>((tie) => ({
  pattern: fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map((items) => items.join('|')),
  sequence: fc.array(tie('item'), { minLength: 1, maxLength: 4 }).map((items) => items.join('')),
  item: fc.tuple(tie('atom'), fc.constantFrom(...QUANTIFIERS)).map(([atom, quantifier]) => `${atom}${quantifier}`),
  atom: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom(...ATOMS),
    tie('pattern').map((inside) => `(${inside})`),
  ),
}))
const anyText = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 7 }).map((characters) => characters.join(''))

interface Case extends Pattern {
  readonly text: string
  readonly pattern: string
}

const MAX = 20
const anyCases = fc
  .tuple(anyPattern, fc.array(anyText, { minLength: 8, maxLength: 8 }))
  .map(([pattern, texts]): Case[] => {
    const checked = checkPattern(pattern, MAX)
    return 'rejection' in checked ? [] : texts.map((text) => ({ ...checked, pattern, text }))
  })

/** What PostgreSQL answers, in one statement. */
const askPostgres = async (cases: readonly Case[]): Promise<readonly boolean[]> => {
  const { rows } = await api.database.query({
    text: `select array_agg(text collate "C" ~ postgres order by n)::text from rows from (jsonb_to_recordset($1) as (text text, postgres text))
      with ordinality as r(text, postgres, n)`,
    values: [JSON.stringify(cases)],
  })
  return String(rows[0]?.[0])
    .slice(1, -1)
    .split(',')
    .map((answer) => answer === 't')
}

describe('every accepted pattern', () => {
  test('matches the same texts here, in PostgreSQL and in a regular expression of JavaScript', async () => {
    let matched = 0
    let count = 0
    const property = fc.asyncProperty(fc.array(anyCases, { minLength: 60, maxLength: 60 }), async (groups) => {
      const cases = groups.flat()
      const ours = cases.map(({ pattern, text }) => matcherOf(pattern).matches(text))
      const show = (answers: readonly boolean[]) => cases.map(({ pattern, text }, at) => [pattern, text, answers[at]])
      expect(show(ours)).toEqual(show(cases.map(({ javascript, text }) => new RegExp(javascript, 'u').test(text))))
      expect(show(ours)).toEqual(show(await askPostgres(cases)))
      matched += ours.filter(Boolean).length
      count += ours.length
    })
    await fc.assert(property, { numRuns: 20 })
    expect(count).toBeGreaterThan(1000)
    expect(matched / count).toBeGreaterThan(0.1)
    expect(matched / count).toBeLessThan(0.9)
  })
})
