import { describe, expect, test } from '@jest/globals'
import { checkText } from '../support/config.js'

const mistakesIn = (auth: string, access: string, more = '') => {
  const text = `version: 1
${auth}
models:
  user:
    table: users
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9 }, subject: { type: string, max: 9, unique: true } }
  task:
    table: tasks
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9 }
      level: { type: integer, maximum: 5 }
      tags: { type: array, items: { type: string, max: 3 } }
      done: { type: boolean }
      size: { type: bigint, maximum: 5000000000 }
      sizes: { type: array, items: { type: bigint } }
      secret: { type: string, max: 9, private: true, nullable: true }
      user: { type: belongs_to, model: user }
resources:
  task:
    model: task
    path: /tasks/
    operations: [list, create, retrieve, partial_update]
    ${more}
    access:
      - ${access}
`
  const found = checkText(text)
  return Array.isArray(found) ? found : []
}
const messagesOf = (...given: Parameters<typeof mistakesIn>): string[] =>
  mistakesIn(...given).map(({ code, message }) => `${code}: ${message}`)

const AUTH = 'auth: { roles: { names: [member] }, claims: { tenant: { type: integer } } }'
const grant = (text: string) => messagesOf(AUTH, text)
const helpOf = (text: string) => mistakesIn(AUTH, text).map(({ help }) => help)

describe('a mistake in a grant is reported with the file', () => {
  test.each([
    ['{ to: membr, may: list }', 'SC333: `membr` is not a role in `auth.roles`'],
    ['{ to: member, may: destroy }', 'SC333: the resource `task` has no operation `destroy`'],
    ['{ to: member, may: list, rows: { ownr: $sub } }', 'SC305: the model `task` has no field `ownr`'],
    [
      '{ to: member, may: list, rows: { owner: $tenant } }',
      'SC331: `owner` is of the type `string`, and `$tenant` is a number',
    ],
    ['{ to: member, may: list, rows: { owner: $nobody } }', 'SC331: `$nobody` is not a variable'],
    [
      '{ to: member, may: list, rows: { user: $user } }',
      'SC331: `$user` needs `auth.user`, which says which record stands for the caller',
    ],
    ['{ to: member, may: list, rows: { level: high } }', 'SC331: `level` cannot be compared with the text `high`'],
    ['{ to: member, may: list, rows: { owner: null } }', 'SC331: `owner` cannot be compared with null'],
    ['{ to: member, may: create, set: { level: high } }', 'SC331: `level` cannot be set to the text `high`'],
    ['{ to: member, may: create, set: { secret: null } }', 'SC331: `secret` cannot be set to null'],
    ['{ to: member, may: create, set: { tags: $sub } }', 'SC331: `tags` is a list, and `$sub` is one value'],
    ['{ to: member, may: list, rows: { done__gt: true } }', 'SC312: the type `boolean` of `done` has no lookup `gt`'],
    [
      '{ to: member, may: list, rows: { owner.name: x } }',
      'SC311: `owner` leads to no other record: it is not a relation',
    ],
    ['{ to: member, may: list, rows: { user.nam: x } }', 'SC305: the model `user` has no field `nam`'],
    ['{ to: member, may: list, fields: [owner, nothing] }', 'SC305: the model `task` has no field `nothing`'],
    [
      '{ to: member, may: list, fields: [secret] }',
      'SC311: `secret` cannot be granted: responses do not include it (`private`)',
    ],
    ['{ to: member, may: list, becomes: { done: true } }', 'SC332: `becomes` is for grants that allow `change`'],
    ['{ to: member, may: list, set: { owner: $sub } }', 'SC332: `set` is for grants that allow `create` or `change`'],
  ])('%s', (text, message) => {
    expect(grant(text)).toEqual([message])
  })

  test.each([
    { rows: '{ owner__in: $sub }', lookup: 'in', help: 'owner: $sub' },
    { rows: '{ owner__not_in: $sub }', lookup: 'not_in', help: 'owner__ne: $sub' },
    { rows: '{ tags__overlaps: $sub }', lookup: 'overlaps', help: 'tags__has: $sub' },
    { rows: '{ tags__contains: $sub }', lookup: 'contains', help: 'tags__has: $sub' },
  ])('a lookup of lists does not take the subject: $rows', ({ rows, lookup, help }) => {
    expect(mistakesIn(AUTH, `{ to: member, may: list, rows: ${rows} }`)).toMatchObject([
      { message: `\`$sub\` is one value, and the lookup \`${lookup}\` takes a list`, help: [`write \`${help}\``] },
    ])
  })

  test.each([
    { grant: 'may: list, rows: { owner__in: [ann, $sub] }', text: '$sub' },
    { grant: 'may: list, rows: { tags__overlaps: [$tenant] }', text: '$tenant' },
    { grant: 'may: create, set: { tags: [$5] }', text: '$5' },
  ])('an item of a list is not a variable: $grant', ({ grant, text }) => {
    expect(mistakesIn(AUTH, `{ to: member, ${grant} }`)).toMatchObject([
      {
        code: 'SC331',
        message: `an item of a list cannot be a variable, and \`${text}\` begins with one \`$\``,
        help: [`write \`$${text}\` for the text \`${text}\``, 'a variable is the whole value, without a list'],
      },
    ])
  })

  test('a preset that is rejected comes with what it can be', () => {
    expect(helpOf('{ to: member, may: create, set: { level: high } }')).toEqual([
      ['it takes a value of the type `integer`'],
    ])
    expect(helpOf('{ to: member, may: create, set: { secret: null } }')).toEqual([
      [
        '`set` cannot store null; to keep the field null, write a grant of its own for writing, whose `fields` lack this field',
      ],
    ])
  })

  test.each([
    {
      set: '{ owner: abcdefghijkl }',
      value: '`owner` cannot be set to the text `abcdefghijkl`',
      rule: 'at most 9 characters',
    },
    { set: '{ level: 77 }', value: '`level` cannot be set to `77`', rule: 'between -2147483648 and 5' },
    { set: '{ tags: [long] }', value: '`tags` cannot be set to a list', rule: 'at most 3' },
  ])('a preset that breaks a rule of its field is rejected: $set', ({ set, value, rule }) => {
    expect(mistakesIn(AUTH, `{ to: member, may: create, set: ${set} }`)).toMatchObject([
      { code: 'SC331', message: value, help: [expect.stringContaining(rule)] },
    ])
  })

  test.each(['{ size: "5000000000" }', '{ user: "9007199254740993" }', '{ sizes: ["9223372036854775807", 1] }'])(
    'a long integer of a preset is written in quotes: %s',
    (set) => {
      expect(mistakesIn(AUTH, `{ to: member, may: create, set: ${set} }`)).toEqual([])
    },
  )

  test('a long integer of a preset that breaks a rule of its field is rejected', () => {
    expect(mistakesIn(AUTH, '{ to: member, may: create, set: { size: "9007199254740993" } }')).toMatchObject([
      { code: 'SC331', message: '`size` cannot be set to the text `9007199254740993`' },
    ])
  })

  test('an empty rule is rejected, because it would hold for every record', () => {
    for (const rows of ['{}', '[]', '[{ done: true }, {}]'])
      expect(helpOf(`{ to: member, may: list, rows: ${rows} }`)).toEqual([
        ['write a condition, or leave it out: without conditions, it would hold for every record'],
      ])
  })

  test('a condition over four relations is rejected', () => {
    expect(helpOf('{ to: member, may: list, rows: { user.a.b.c.d: x } }')).toEqual([
      [expect.stringContaining('`relation.field` with up to three relations')],
    ])
  })

  test('valid ones are not', () => {
    expect(
      grant('{ to: member, may: all, rows: [{ owner: $sub }, { level__in: [1, 2], user.name__startswith: $sub }] }'),
    ).toEqual([])
    expect(grant('{ to: anyone, may: list, rows: { owner: $$sub, done: false } }')).toEqual([])
  })
})

describe('variables are compared by the type of their values', () => {
  const mistakes = (key: string, rows: string) => {
    const found = checkText(`version: 1
auth: { claims: { tenant: { type: integer }, region: { type: string } }, user: { model: account, match: subject } }
models:
  person: { table: people, fields: { id: { type: bigint, primary_key: true } } }
  account: { table: accounts, fields: { key: { ${key}, primary_key: true }, subject: { type: string, max: 9, unique: true } } }
  task:
    table: tasks
    fields:
      id: { type: bigint, primary_key: true }
      state: { type: choice, choices: [open, done] }
      owner: { type: belongs_to, model: account }
resources:
  task: { model: task, path: /tasks/, access: [{ to: signed_in, may: all, rows: { ${rows} } }] }
`)
    return Array.isArray(found) ? found.map(({ message }) => message) : []
  }

  test('a user may be identified by a relation or a choice', () => {
    for (const key of ['type: belongs_to, model: person', 'type: choice, choices: [a, b]'])
      expect(mistakes(key, 'owner: $user')).toEqual([])
  })

  test('a choice is compared with a text', () => {
    expect(mistakes('type: bigint', 'state: $region')).toEqual([])
    expect(mistakes('type: bigint', 'state: $tenant')).toEqual([
      '`state` is of the type `choice`, and `$tenant` is a number',
    ])
  })
})

test('every mistake in grants is reported at once, in the order of the file, with its line and column', () => {
  const access = '{ to: membr, may: destroy, rows: { ownr: $sub }, fields: [nothing] }'
  const second = '{ to: member, may: list, rows: { owner: $tenant } }'
  const found = mistakesIn(AUTH, `${access}\n      - ${second}`)
  expect(found.map(({ code, file, range }) => `${file}:${range.start.line}:${range.start.column} ${code}`)).toEqual([
    'resources.yaml:26:15 SC333',
    'resources.yaml:26:27 SC333',
    'resources.yaml:26:44 SC305',
    'resources.yaml:26:67 SC305',
    'resources.yaml:27:49 SC331',
  ])
})

describe('mistakes around grants', () => {
  test('operations of the wrong shape are the only mistake', () => {
    const text = `version: 1
auth: {}
models: { note: { fields: { id: { type: bigint, primary_key: true } } } }
resources: { note: { model: note, path: /notes/, operations: 5, access: [{ to: anyone, may: read }] } }
`
    const found = checkText(text)
    expect(Array.isArray(found) && found.map(({ code }) => code)).toEqual(['SC203'])
  })

  test('`access` without `auth`', () => {
    expect(messagesOf('', '{ to: anyone, may: list }')).toEqual([
      'SC330: `access` needs `auth`, which says how callers sign in',
    ])
  })

  test('an order by what a grant hides', () => {
    expect(
      messagesOf(AUTH, '{ to: member, may: list, fields: { except: [level] } }', 'default_order: [-level]'),
    ).toEqual([
      'SC334: lists cannot be ordered by `level`: a grant of `list` does not show it, and the order would reveal its values',
    ])
  })

  test.each(['list', 'retrieve'])('more than four sets of fields that grants of %s show', (reading) => {
    const names = ['id', 'owner', 'level', 'done', 'user']
    const grants = (some: readonly string[]) =>
      some.map((name) => `{ to: member, may: ${reading}, fields: [${name}] }`).join('\n      - ')
    expect(messagesOf(AUTH, grants(names.slice(1)))).toEqual([])
    expect(messagesOf(AUTH, grants(names))).toEqual([
      `SC334: the grants of \`${reading}\` show 5 different sets of fields; at most 4 are allowed`,
    ])
  })

  test('cursors with a key that a grant hides', () => {
    const style = 'pagination: { style: cursor }'
    expect(messagesOf(AUTH, '{ to: member, may: list, fields: [owner] }', style)).toEqual([
      'SC334: cursors contain the key of records, and a grant of `list` does not show it',
    ])
    expect(messagesOf(AUTH, '{ to: member, may: list, fields: [id, owner] }', style)).toEqual([])
  })

  test.each([
    ['auth: { roles: { names: [anyone] } }', 'SC304: a role cannot be called `anyone`: that is a word of grants'],
    ['auth: { routes: { openapi: [everybody] } }', 'SC333: `everybody` is not a role in `auth.roles`'],
    ['auth: { development: { ann: { roles: [boss] } } }', 'SC333: `boss` is not a role in `auth.roles`'],
    ['auth: { user: { model: usr, match: subject } }', 'SC306: no model is named `usr`'],
    [
      'auth: { user: { model: user, match: name } }',
      'SC331: `name` cannot have the subjects of callers: it is not unique',
    ],
    [
      'auth: { claims: { sub: { type: string } } }',
      'SC304: a claim cannot be called `sub`: that is a variable of every rule',
    ],
    [
      'auth: { sets: { mine: { of: task.nothing, rows: { owner: $sub } } } }',
      'SC305: the model `task` has no field `nothing`',
    ],
    ['auth: { sets: { mine: { of: task.id, rows: { owner: $mine } } } }', 'SC331: `$mine` is not a variable'],
  ])('%s', (auth, message) => {
    expect(messagesOf(auth, '{ to: anyone, may: list }')).toEqual([message])
  })
})
