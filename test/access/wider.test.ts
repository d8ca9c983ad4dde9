import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decide } from '../../src/access/decide/decide.js'
import { evaluateRule, type StoredRecord } from '../../src/access/decide/evaluate.js'
import { knownBy, type Situation } from '../../src/access/decide/situation.js'
import { findWidened } from '../../src/access/wider.js'
import { readConfig } from '../../src/config/yaml/document.js'
import type { Json } from '../../src/foundation/json.js'
import { specOf } from '../support/config.js'
import { grantsOf, MODEL_NAMES, yamlOf } from '../support/random-access.js'
import { TASKS_YAML } from '../support/tasks.js'

const configured = (yaml: string) => {
  const document = readConfig(Buffer.from(yaml), 'resources.yaml')
  if (!('locate' in document)) throw new Error('the text is not YAML')
  return { spec: specOf(yaml), root: document.value }
}
const widened = (before: string, after: string) =>
  findWidened(configured(before), configured(after)).map(({ what }) => what)

describe('a change of the configuration', () => {
  const change = (from: string, to: string) => {
    expect(TASKS_YAML).toContain(from)
    return TASKS_YAML.replace(from, to)
  }
  const GRANT = '{ to: member, may: destroy, rows: { creator: $sub } }'

  test.each([
    ['a condition goes', GRANT, '{ to: member, may: destroy }', ['task.destroy:member']],
    [
      'another value',
      'rows: { tenant: $tenant }',
      'rows: { tenant: 7 }',
      ['project.list:admin', 'project.retrieve:admin'],
    ],
    ['a field is shown', 'except: [cost, creator]', 'except: [cost]', ['task.list:member', 'task.retrieve:member']],
    [
      'a value more',
      'status__in: [open, done]',
      'status__in: [open, done, archived]',
      ['task.update:member', 'task.partial_update:member'],
    ],
    ['to more callers', GRANT, GRANT.replace('member', 'signed_in'), ['task.destroy:signed_in']],
    ['a set with other rows', 'rows: { user: $user }', 'rows: { project: 1 }', ['project.list:member']],
    ['a role', 'clerk, boss]', 'clerk, boss, chief]', ['auth.roles.chief']],
    ['a route', 'explore: anyone }', 'explore: anyone, report: [boss] }', ['auth.routes.report']],
    ['a development identity', 'eve: {}', 'eve: { roles: [boss] }', ['auth.development.eve']],
    [
      'a claim from elsewhere',
      'tenant: { type: integer }',
      'tenant: { type: integer, from: [org] }',
      ['project.list:admin'],
    ],
    [
      'a mount',
      '- { path: /crud, dialect: crud }',
      '- { path: /crud, dialect: crud }\n  - { path: /more }',
      ['mounts./more'],
    ],
    ['the server sets nothing', '        set: { creator: $sub }\n', '', ['task.create:member']],
    [
      'a new field under `except`',
      '      creator: { type: string',
      '      secret: { type: integer, nullable: true }\n      creator: { type: string',
      ['task.list:member', 'task.create:admin'],
    ],
  ])('%s widens', (_name, from, to, expected) => {
    expect(widened(TASKS_YAML, change(from, to))).toEqual(expect.arrayContaining(expected))
  })

  test('a new field that a grant to all fields includes is named', () => {
    const text = change(
      '      creator: { type: string',
      '      secret: { type: integer, nullable: true }\n      creator: { type: string',
    )
    const found = findWidened(configured(TASKS_YAML), configured(text)).find(({ what }) => what === 'task.list:member')
    expect(found?.now).toMatch(/; fields all but .*; secret is new$/)
  })

  test.each([
    ['read_only: true, ', ['task.create:admin']],
    ['write_only: true, ', ['task.list:member', 'task.retrieve:member']],
  ])('a field without its `%s` widens', (option, expected) => {
    const withNote = (options: string) =>
      change('      creator: { type', `      note: { ${options}type: integer, nullable: true }\n      creator: { type`)
    expect(widened(withNote(option), withNote(''))).toEqual(expect.arrayContaining(expected))
    expect(widened(withNote(''), withNote(option))).toEqual([])
  })

  test.each([
    ['nothing changes', 'version: 1', 'version: 1'],
    ['a condition more', GRANT, '{ to: member, may: destroy, rows: { creator: $sub, status: open } }'],
    ['a value less', 'status__in: [open, done]', 'status__in: [open]'],
    ['one value of several', 'status__in: [open, done]', 'status: done'],
    ['a field less', 'except: [cost, creator]', 'except: [cost, creator, next]'],
    ['an operation less', '{ to: boss, may: read }', '{ to: boss, may: list }'],
    ['a grant less', `      - ${GRANT}\n`, ''],
    ['a set with fewer rows', 'rows: { user: $user }', 'rows: { user: $user, project__isnull: false }'],
  ])('%s does not widen', (_name, from, to) => {
    expect(widened(TASKS_YAML, change(from, to))).toEqual([])
  })

  test.each([
    ['another issuer', 'id.example', 'other.example'],
    ['another audience', 'audience: a', 'audience: b'],
    ['an algorithm', '[RS256]', '[RS256, ES256]'],
  ])('%s widens', (_name, from, to) => {
    const jwt = 'auth:\n  jwt: { issuer: https://id.example, audience: a, algorithms: [RS256] }'
    const old = change('auth:', jwt)
    expect(widened(old, old.replace(from, to))).toEqual(['auth.jwt'])
  })

  test.each([
    ['12345678901234567890.01', '12345678901234567890.00', true],
    ['12345678901234567890.00', '12345678901234567890.01', false],
    ['-0.01', '-0.02', true],
    ['-12345678901234567890.02', '-12345678901234567890.01', false],
    ['1.50', '1.5', false],
    ['10', '9.99', true],
    ['9.99', '10', false],
  ])('the lower limit of a decimal changes from %s to %s: wider is %s', (from, to, isWider) => {
    const withLimit = (limit: string) =>
      change(GRANT, `{ to: member, may: destroy, rows: { amount__gte: "${limit}" } }`).replace(
        '      creator: { type',
        '      amount: { type: decimal, precision: 30, scale: 2 }\n      creator: { type',
      )
    expect(widened(withLimit(from), withLimit(to))).toEqual(isWider ? ['task.destroy:member'] : [])
  })

  test.each([
    { type: 'float', lookup: 'lt', from: '9', to: '10', isWider: true },
    { type: 'float', lookup: 'lt', from: '10', to: '9', isWider: true },
    { type: 'float', lookup: 'lte', from: '9', to: '9.0', isWider: false },
    { type: 'interval', lookup: 'lt', from: 'P2D', to: 'P10D', isWider: true },
    { type: 'inet', lookup: 'lt', from: '2.0.0.0', to: '100.0.0.0', isWider: true },
    { type: 'cidr', lookup: 'lt', from: '2.0.0.0/8', to: '100.0.0.0/8', isWider: true },
    { type: 'timestamp', lookup: 'lt', from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00.000Z', isWider: false },
    { type: 'timestamp', lookup: 'lt', from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z', isWider: true },
  ])('the limit of a $type by $lookup changes from $from to $to: wider is $isWider', (change) => {
    const { type, lookup, from, to, isWider } = change
    const withLimit = (limit: string) => `version: 1
auth: { roles: { names: [member] } }
models:
  thing: { table: things, fields: { id: { type: bigint, primary_key: true }, x: { type: ${type} } } }
resources:
  thing:
    model: thing
    path: /things/
    access: [{ to: member, may: destroy, rows: { x__${lookup}: ${type === 'float' ? limit : `"${limit}"`} } }]
`
    expect(widened(withLimit(from), withLimit(to))).toEqual(isWider ? ['thing.destroy:member'] : [])
  })

  test('a limit that becomes exclusive does not widen, whatever the type', () => {
    const withLimit = (condition: string) =>
      change(GRANT, `{ to: member, may: destroy, rows: { seen__${condition} } }`).replace(
        '      creator: { type',
        '      seen: { type: timestamp, nullable: true }\n      creator: { type',
      )
    const [inclusive, exclusive] = ['lte', 'lt'].map((each) => withLimit(`${each}: "2026-01-01T00:00:00Z"`))
    expect(widened(inclusive ?? '', exclusive ?? '')).toEqual([])
    expect(widened(exclusive ?? '', inclusive ?? '')).toEqual(['task.destroy:member'])
  })

  describe('a field with another column', () => {
    const yaml = (fields: string, grant: string) => `version: 1
auth: { roles: { names: [member] } }
models:
  thing: { table: things, fields: { id: { type: bigint, primary_key: true }, ${fields} } }
resources:
  thing: { model: thing, path: /things/, access: [{ to: member, ${grant} }] }
`
    const before = 'owner: { type: text }, secret: { type: text }'
    test.each([
      {
        name: 'is shown',
        fields: 'owner: { type: text, column: secret }, secret: { type: text, column: owner }',
        isWider: true,
      },
      { name: 'replaces a shown field', fields: 'owner: { type: text, column: secret }', isWider: true },
      {
        name: 'is new under the name of a shown field',
        fields: 'owner: { type: text, column: other }, secret: { type: text }',
        isWider: true,
      },
      {
        name: 'was renamed from a hidden field',
        fields: 'owner: { type: text, renamed_from: secret }',
        isWider: true,
      },
      {
        name: 'was renamed from a shown field',
        fields: 'holder: { type: text, renamed_from: owner }, secret: { type: text }',
        isWider: false,
      },
      {
        name: 'has the old column under another name',
        fields: 'holder: { type: text, column: owner }, secret: { type: text }',
        isWider: false,
      },
    ])('$name: wider is $isWider', ({ fields, isWider }) => {
      const except = fields.includes('secret: ') ? 'may: all, fields: { except: [secret] }' : 'may: all'
      const names = ['list', 'create', 'retrieve', 'update', 'partial_update'].map((each) => `thing.${each}:member`)
      expect(widened(yaml(before, 'may: all, fields: { except: [secret] }'), yaml(fields, except))).toEqual(
        isWider ? names : [],
      )
    })

    test('is named', () => {
      const grant = 'may: list, fields: [owner]'
      const found = findWidened(
        configured(yaml(before, grant)),
        configured(yaml('owner: { type: text, column: secret }', grant)),
      )
      expect(found.map(({ now }) => now)).toEqual(['to member; fields owner; owner has the column secret'])
    })

    test('has a value that the server sets', () => {
      const grant = 'may: create, set: { owner: $sub }'
      const swapped = 'owner: { type: text, column: secret }, secret: { type: text, column: owner }'
      expect(widened(yaml(before, grant), yaml(swapped, grant))).toEqual(['thing.create:member'])
    })
  })

  test.each([
    { name: 'fewer conditions', from: 'select id from things where pub', to: 'select id from things', isWider: true },
    { name: 'another table', from: 'select id from things', to: 'select id from others', isWider: true },
    { name: 'an empty line more', from: 'select id from things', to: 'select id from things\n', isWider: false },
  ])('a view whose query has $name: wider is $isWider', ({ from, to, isWider }) => {
    const yaml = (query: string) => `version: 1
auth: { roles: { names: [member] } }
models:
  v:
    view: |
      ${query}
    primary_key: [id]
    fields: { id: { type: bigint } }
resources:
  v: { model: v, path: /v/, operations: [list, retrieve], access: [{ to: member, may: read }] }
`
    expect(widened(yaml(from), yaml(to))).toEqual(isWider ? ['models.v.view'] : [])
  })

  test('a relation with `on_delete: cascade` widens where callers may not destroy the records that refer', () => {
    const yaml = (onDelete: string, note = 'retrieve', more = '') => `version: 1
auth: { roles: { names: [member] } }
models:
  team: { table: teams, fields: { id: { type: bigint, primary_key: true } } }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      team: { type: belongs_to, model: team, on_delete: ${onDelete} }
${more}
resources:
  team: { model: team, path: /teams/, access: [{ to: member, may: destroy }] }
  note: { model: note, path: /notes/, access: [{ to: member, may: ${note} }] }
`
    const remark =
      '  remark: { table: remarks, fields: { id: { type: bigint, primary_key: true }, team: { type: belongs_to, model: team, on_delete: cascade } } }'
    expect(widened(yaml('restrict'), yaml('cascade'))).toEqual(['team.destroy:member'])
    expect(widened(yaml('cascade'), yaml('cascade'))).toEqual([])
    expect(widened(yaml('cascade'), yaml('restrict'))).toEqual([])
    expect(widened(yaml('restrict', 'destroy'), yaml('cascade', 'destroy'))).toEqual([])
    expect(widened(yaml('restrict'), yaml('cascade', 'destroy'))).toEqual(['note.destroy:member'])
    expect(widened(yaml('restrict'), yaml('restrict', 'retrieve', remark))).toEqual([])

    const reply = (onDelete: string) =>
      `  reply: { table: replies, fields: { id: { type: bigint, primary_key: true }, note: { type: belongs_to, model: note, on_delete: ${onDelete} } } }`
    const twoSteps = (note: string, of: string, may = 'retrieve') => yaml(note, may, reply(of))
    expect(widened(twoSteps('cascade', 'restrict'), twoSteps('cascade', 'cascade'))).toEqual(['team.destroy:member'])
    expect(widened(twoSteps('restrict', 'cascade'), twoSteps('cascade', 'cascade'))).toEqual([
      'team.destroy:member',
      'team.destroy:member',
    ])
    expect(widened(twoSteps('cascade', 'cascade'), twoSteps('cascade', 'cascade'))).toEqual([])
    // The grant for notes reaches the replies, not the grant for teams.
    expect(widened(twoSteps('cascade', 'restrict', 'destroy'), twoSteps('cascade', 'cascade', 'destroy'))).toEqual([
      'note.destroy:member',
    ])
  })

  describe('the record of the caller', () => {
    const yaml = (user: string, id = 'id: { type: bigint, primary_key: true', match = 'subject') => `version: 1
auth:
  roles: { names: [member] }
  user: { model: user, match: ${match} }
  sets: { mine: { of: membership.team, rows: { user: $user } } }
models:
  user:
    ${user}
    fields:
      ${id} }
      subject: { type: string, max: 100, unique: true }
      nick: { type: string, max: 100, unique: true, column: nickname }
  team: { table: teams, fields: { id: { type: bigint, primary_key: true } } }
  membership:
    table: memberships
    fields: { id: { type: bigint, primary_key: true }, user: { type: belongs_to, model: user }, team: { type: belongs_to, model: team } }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: belongs_to, model: user }
      team: { type: belongs_to, model: team }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: member, may: list, rows: { owner: $user } }
      - { to: member, may: destroy, rows: { team__in: $mine } }
      - { to: member, may: create, set: { owner: $user } }
`
    const before = yaml('table: users')
    const nick = 'nick: { type: string, max: 100, unique: true, column: nickname }'
    const subject = 'subject: { type: string, max: 100, unique: true }'
    test.each([
      ['another field with the subject', yaml('table: users', undefined, 'nick')],
      [
        'another column of that field',
        before.replace(nick, '').replace('unique: true }', 'unique: true, column: nickname }'),
      ],
      ['another type of that field', before.replace(subject, 'subject: { type: text, unique: true }')],
      ['another column of the key', yaml('table: users', 'id: { type: bigint, primary_key: true, column: boss_id')],
      ['another table', yaml('table: people')],
      ['another schema', yaml('table: other.users\n    managed: false')],
      ['a view instead of the table', yaml('view: select * from users')],
    ])('widens with %s', (_name, after) => {
      expect(after).not.toBe(before)
      expect(widened(before, after)).toEqual(
        expect.arrayContaining(['note.list:member', 'note.destroy:member', 'note.create:member']),
      )
    })

    test('may be a view with a query that differs', () => {
      const [one, other] = ['id < 9', 'true'].map((where) =>
        yaml(`table: users\n    view: select id, subject, nickname from people where ${where}`),
      )
      expect(widened(one ?? '', other ?? '')).toEqual(['models.user.view'])
      expect(widened(before, other ?? '')).toEqual(['models.user.view'])
    })

    test('does not widen if only names differ', () => {
      const renamed = before
        .replaceAll(/\buser: \{ type/g, 'person: { type')
        .replaceAll('model: user', 'model: person')
        .replace('  user:\n', '  person:\n')
        .replace('rows: { user: $user }', 'rows: { person: $user }')
        .replace('person: { type: belongs_to', 'person: { column: user_id, type: belongs_to')
        .replace(subject, 'login: { type: string, max: 100, unique: true, column: subject }')
        .replace('match: subject', 'match: login')
      expect(renamed).not.toContain('user:\n')
      expect(widened(before, renamed)).toEqual([])
      expect(widened(before, before.replaceAll('max: 100', 'max: 200'))).toEqual([])
    })

    test('is named in the report', () => {
      const found = findWidened(configured(before), configured(yaml('table: people')))
      expect(found.map(({ now }) => now)).toEqual([
        'to member; rows owner: $user; fields all; $user may have other values than before',
        'to member; rows team__in: $mine; fields all; $mine may have other values than before',
        'to member; set owner: $user; fields all; $user may have other values than before',
      ])
    })
  })

  describe('another collation', () => {
    const yaml = (rows: string, collations: Readonly<Record<string, string>> = {}) => {
      const text = (name: string, more = '') => {
        const collation = collations[name] === undefined ? '' : `, collation: ${collations[name]}`
        return `{ type: string, max: 20${more}${collation} }`
      }
      return `version: 1
auth:
  roles: { names: [member] }
  claims: { tenant: { type: string } }
  user: { model: user, match: subject }
  sets: { mine: { of: membership.team, rows: { user: $user, level: high } } }
models:
  user: { table: users, fields: { id: ${text('user', ', primary_key: true')}, subject: ${text('subject', ', unique: true')} } }
  team: { table: teams, fields: { id: ${text('team', ', primary_key: true')}, tenant: ${text('tenant')} } }
  membership:
    table: memberships
    fields: { id: { type: bigint, primary_key: true }, user: { type: belongs_to, model: user }, team: ${text('membership')}, level: ${text('level')} }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: belongs_to, model: user }
      team: { type: belongs_to, model: team }
      region: ${text('region')}
      tags: { type: array, items: ${text('tag')}, nullable: true }
      title: ${text('title')}
resources:
  note: { model: note, path: /notes/, access: [{ to: member, may: destroy, rows: { ${rows} } }] }
`
    }
    test.each([
      ['of the field', 'region: eu', 'region'],
      ['of the field that is compared with a claim', 'region: $tenant', 'region'],
      ['of the field that is compared with several texts', 'region__in: [eu, us]', 'region'],
      ['of the items of a list', 'tags__has: eu', 'tag'],
      ['of a related field', 'team.tenant: $tenant', 'tenant'],
      ['of the key of a relation', 'team: a', 'team'],
      ['of the key by which a relation finds a record', 'team.tenant: $tenant', 'team'],
      ['of the field with the subject', 'owner: $user', 'subject'],
      ['of the key of callers', 'owner: $user', 'user'],
      ['of the field of a set', 'team__in: $mine', 'membership'],
      ['of a condition of a set', 'team__in: $mine', 'level'],
      ['of the field with the subject, for a set', 'team__in: $mine', 'subject'],
    ])('%s widens `%s`', (_name, rows, field) => {
      const [before, now, built] = [yaml(rows), yaml(rows, { [field]: 'ci' }), yaml(rows, { [field]: 'de-x-icu' })]
      expect(now).not.toBe(before)
      for (const [one, other] of [
        [before, now],
        [now, before],
        [built, now],
      ] as const)
        expect(widened(one, other)).toEqual(['note.destroy:member'])
      expect(widened(now, now)).toEqual([])
    })

    test('does not widen if no condition compares the field, or if it is the default', () => {
      expect(widened(yaml('region: eu'), yaml('region: eu', { title: 'ci', tenant: 'ci', subject: 'ci' }))).toEqual([])
      expect(widened(yaml('region: eu'), yaml('region: eu', { region: 'C' }))).toEqual([])
    })
  })

  test('a resource widens', () => {
    const user = '  user: { model: user, path: /users/, access: [{ to: boss, may: list }] }'
    expect(widened(TASKS_YAML, change('resources:\n', `resources:\n${user}\n`))).toEqual(['user.list:boss'])
  })

  test('without `auth` everything is wider, and with it nothing', () => {
    const open = `version: 1\nmodels:\n  a:\n    table: a\n    fields: { id: { type: bigint, primary_key: true } }\nresources:\n  a: { model: a, path: /a/ }\n`
    const closed = open.replace('version: 1', 'version: 1\nauth: {}')
    expect(widened(closed, open)).toEqual(['auth'])
    expect(widened(open, closed)).toEqual([])
  })
})

const TEAMS = '1 2 3'
  .split(' ')
  .map((id) => ({ id, tenant: id === '1' ? '7' : id === '2' ? '8' : null, name: 'ab', owner: id === '3' ? null : id }))
const WORLD: Readonly<Record<string, readonly StoredRecord[]>> = {
  users: [
    { id: '1', subject: 'ann' },
    { id: '2', subject: 'bob' },
  ],
  teams: TEAMS,
  memberships: [
    { id: '1', user: '1', team: '1' },
    { id: '2', user: '2', team: '3' },
  ],
  notes: ['open', 'done', 'gone'].flatMap((state, one) =>
    [null, '2', '5'].flatMap((cost, two) =>
      [null, 'ann', 'bob'].map((owner, three) => ({
        id: String(one * 9 + two * 3 + three + 1),
        team: [null, '1', '2', '3'][(one + two + three) % 4] ?? null,
        title: ['a', 'ab', 'Ba'][three] ?? null,
        state,
        cost,
        owner,
        public: String(two === 1),
        next: three === 0 ? null : '1',
        code: null,
      })),
    ),
  ),
}
const CALLERS = [
  undefined,
  { subject: 'ann', roles: [], claims: {} },
  { subject: 'ann', roles: ['reader'], claims: { tenant: 7, limits: [1, 5] } },
  { subject: 'bob', roles: ['writer'], claims: { tenant: 8, limits: [2] } },
  { subject: 'eve', roles: ['reader', 'writer'], claims: {} },
]

/** Grants, and the same with some parts changed. */
const pair = fc
  .tuple(grantsOf('note'), grantsOf('note'), fc.array(fc.nat(6), { minLength: 4, maxLength: 4 }))
  .map(([before, other, choices]) => {
    const after = before.map((grant, place): Json => {
      const choice = choices[place] ?? 0
      const given = grant as Readonly<Record<string, Json>>
      const another = (other[place % other.length] ?? grant) as Readonly<Record<string, Json>>
      const both = [given['rows'] ?? {}, another['rows'] ?? {}].filter((rule) => !Array.isArray(rule))
      const joined = Object.assign({}, ...both) as Json
      if (choice === 0) return another
      if (choice === 1 && both.length === 2 && Object.keys(joined as object).length > 0)
        return { ...given, rows: joined }
      if (choice === 2 && another['rows'] !== undefined) return { ...given, rows: another['rows'] }
      if (choice === 3 && another['fields'] !== undefined) return { ...given, fields: another['fields'] }
      const changes = [given['may']].flat().some((name) => ['all', 'change', 'partial_update'].includes(String(name)))
      if (choice === 5 && changes) return { ...given, becomes: another['becomes'] ?? another['rows'] ?? { title: 'a' } }
      if (choice === 4) return { ...given, to: another['to'] ?? 'anyone' }
      return grant
    })
    return [before, after] as const
  })

test('whatever is not reported as wider allows nothing more', () => {
  let narrower = 0
  let written = 0
  const full = (note: readonly Json[]) =>
    yamlOf({ ...Object.fromEntries(MODEL_NAMES.map((name) => [name, [{ to: 'anyone', may: 'read' }]])), note }, {})
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const [one, two] = [configured(full(before)), configured(full(after))]
      const reported = new Set(findWidened(one, two).map(({ what }) => what))
      const situationOf = ({ spec }: typeof one, caller: (typeof CALLERS)[number]): Situation => {
        const resource = spec.resources.find(({ name }) => name === 'note')
        if (!resource) throw new Error('there is no note')
        return { spec, resource, caller, known: knownBy(spec, caller, (table) => WORLD[table]) }
      }
      for (const caller of CALLERS) {
        const [old, now] = [situationOf(one, caller), situationOf(two, caller)]
        const isReported = (operation: string) => [...reported].some((what) => what.startsWith(`note.${operation}:`))
        for (const { id } of WORLD['notes'] ?? []) {
          const request = { operation: 'retrieve' as const, id: [id ?? ''] }
          if (isReported('retrieve')) break
          const [shown] = decide(now, request).records ?? []
          const [shownBefore] = decide(old, request).records ?? []
          if (shown === undefined) continue
          narrower += 1
          expect(Object.keys(shownBefore ?? {})).toEqual(expect.arrayContaining(Object.keys(shown)))
        }
        for (const operation of ['destroy', 'create', 'partial_update'] as const) {
          if (isReported(operation)) continue
          for (const record of WORLD['notes'] ?? []) {
            for (const grant of now.resource.access ?? []) {
              for (const after of operation === 'partial_update' ? AFTER : [record]) {
                if (!covers(grant, { operation, record, after }, now)) continue
                written += 1
                const fields = operation === 'destroy' ? [] : writableFields(grant)
                const isOld = (each: Grant) =>
                  covers(each, { operation, record, after }, old) &&
                  fields.every((name) => writableFields(each).includes(name))
                expect({ grant: (old.resource.access ?? []).some(isOld) ? undefined : grant }).toEqual({
                  grant: undefined,
                })
              }
            }
          }
        }
      }
    }),
    { numRuns: Number(process.env['SNIPPETCTL_ACCESS'] ?? 0) > 0 ? 2000 : 100 },
  )
  expect(narrower).toBeGreaterThan(100)
  expect(written).toBeGreaterThan(100)
})

type Grant = NonNullable<Situation['resource']['access']>[number]

/** Records that a change can lead to. */
const AFTER = (WORLD['notes'] ?? []).filter((_, place) => place % 5 === 0)

/** The fields that a grant leaves to the client. */
function writableFields({ fields, set }: Grant): readonly string[] {
  return fields.filter((name) => !set.some(({ field }) => field.name === name))
}

interface Write {
  readonly operation: string
  readonly record: StoredRecord
  /** The record after a change. */
  readonly after: StoredRecord
}

/** Whether a grant allows an operation on a record to the caller. */
function covers(grant: Grant, { operation, record, after }: Write, { caller, known }: Situation): boolean {
  const isTo = grant.to === 'anyone' || (caller && (grant.to === 'signed_in' || caller.roles.includes(grant.to)))
  const holds = (rule: Grant['rows'], each: StoredRecord) => evaluateRule(rule, each, known).holds === true
  return (
    Boolean(isTo) &&
    grant.may.includes(operation) &&
    holds(grant.rows, record) &&
    (operation !== 'partial_update' || holds(grant.becomes, after))
  )
}
