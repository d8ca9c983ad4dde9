import { describe, expect, test } from '@jest/globals'
import { checkText, ddlOf, mistakesOf, specOf } from '../support/config.js'

/** The index is on line 15. */
const config = (index: string) => `version: 1
models:
  person:
    table: people
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 80 }
      status: { type: choice, choices: [open, done] }
      score: { type: decimal, precision: 4, scale: 2, nullable: true }
      tags: { type: array, items: { type: string, max: 9 } }
      place: { type: opaque, column_type: point, nullable: true }
      boss: { type: belongs_to, model: person, nullable: true }
      old__name: { type: text }
    indexes:
      - ${index}
`

describe('an index', () => {
  test.each([
    '{ fields: [name], unique: true, ignore_case: true, where: { score: null } }',
    '{ fields: [name, id], ignore_case: true }',
    '{ fields: [id], where: { status__in: [open], score__gte: "1.50", score__isnull: false, name__startswith: A, boss: 3 } }',
    '{ fields: [id], where: { old__name: x, tags__has: x } }',
    '{ fields: [tags], using: gin }',
    '{ fields: [place], using: gist }',
    '{ fields: [id], using: brin }',
    '{ fields: [name], using: hash, where: { status: open } }',
    '{ fields: [name], using: btree }',
  ])('is valid: %s', (index) => {
    expect(mistakesOf(config(index))).toEqual([])
  })

  test.each([
    ['{ fields: [name], where: { nam: x } }', '15:36 SC305'],
    ['{ fields: [name], where: { name__near: x } }', '15:36 SC312'],
    ['{ fields: [name], where: { status: closed } }', '15:44 SC315'],
    ['{ fields: [name], where: { score: 1.5 } }', '15:43 SC315'],
    ['{ fields: [name], where: { status__in: open } }', '15:48 SC315'],
    ['{ fields: [name], where: { name__ne: null } }', '15:46 SC315'],
    ['{ fields: [name], where: { score__isnull: 1 } }', '15:51 SC315'],
    ['{ fields: [name], where: { name__startswith: "a\\0b" } }', '15:54 SC315'],
    ['{ fields: [name], where: { name__contains: "\\uD800" } }', '15:52 SC315'],
    ['{ fields: [name], where: {} }', '15:34 SC207'],
    ['{ fields: [id], ignore_case: true }', '15:25 SC319'],
    ['{ fields: [name], using: tree }', '15:34 SC204'],
    ['{ fields: [name], using: gin }', '15:34 SC315'],
    ['{ fields: [tags], using: hash }', '15:34 SC315'],
    ['{ fields: [tags], using: gist }', '15:34 SC315'],
    ['{ fields: [name, id], using: hash }', '15:38 SC304'],
    ['{ fields: [name], unique: true, using: hash }', '15:48 SC304'],
    ['{ fields: [name], ignore_case: true, using: hash }', '15:53 SC304'],
  ])('is invalid: %s', (index, mistake) => {
    expect(mistakesOf(config(index))).toEqual([mistake])
  })

  test('is declared once in each form', () => {
    const twice = '{ fields: [name], where: { status: open } }'
    expect(mistakesOf(config(`${twice}\n      - [name]\n      - { fields: [name], ignore_case: true }`))).toEqual([])
    expect(mistakesOf(config(`${twice}\n      - ${twice}`))).toEqual(['16:9 SC316'])
  })

  test('reports the rule that the value of a condition breaks', () => {
    const found = checkText(config('{ fields: [name], where: { status: closed } }'))
    expect(found).toMatchObject([
      { message: 'the condition `status` must be one of: open, done; got the text `closed`' },
    ])
  })

  test.each([
    ['score__gte: "1.50"', 'people_name_score_gte_1_50_idx'],
    ['status: open', 'people_name_status_open_idx'],
    ['name__startswith: "A."', 'people_name_name_startswith_A_idx'],
    ['score: null', 'people_name_score_null_idx'],
  ])('is named after its columns and its condition { %s }', (condition, name) => {
    expect(ddlOf(specOf(config(`{ fields: [name], where: { ${condition} } }`)))).toContain(`create index "${name}" on`)
  })

  test('has the value of a condition as its field reads it', () => {
    const [model] = specOf(config('{ fields: [name], where: { score: null, status__in: [open, done] } }')).models
    expect(model?.indexes[0]?.where.map(({ field, lookup, value }) => [field.name, lookup.name, value])).toEqual([
      ['score', 'isnull', true],
      ['status', 'in', ['open', 'done']],
    ])
  })
})
