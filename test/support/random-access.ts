import fc from 'fast-check'
import type { Json } from '../../src/foundation/json.js'

type Mapping = Readonly<Record<string, Json>>

export const MODEL_NAMES = ['user', 'team', 'membership', 'note'] as const

const id = { type: 'bigint', primary_key: true }

/** The tables that random rules are about. */
const MODELS: Readonly<Record<string, Mapping>> = {
  user: { table: 'users', fields: { id, subject: { type: 'string', max: 20, unique: true } } },
  team: {
    table: 'teams',
    fields: {
      id,
      tenant: { type: 'integer', nullable: true },
      name: { type: 'string', max: 20, default: 'team' },
      owner: { type: 'belongs_to', model: 'user', nullable: true },
    },
  },
  membership: {
    table: 'memberships',
    fields: {
      id,
      user: { type: 'belongs_to', model: 'user', nullable: true },
      team: { type: 'belongs_to', model: 'team', nullable: true },
    },
  },
  note: {
    table: 'notes',
    fields: {
      id,
      team: { type: 'belongs_to', model: 'team', nullable: true },
      title: { type: 'string', max: 20, default: 'note' },
      state: { type: 'choice', choices: ['open', 'done', 'gone'], default: 'open' },
      cost: { type: 'integer', nullable: true },
      owner: { type: 'string', max: 20, nullable: true },
      public: { type: 'boolean', default: false },
      next: { type: 'belongs_to', model: 'note', nullable: true },
      code: { type: 'string', max: 20, nullable: true, unique: true },
      reviewer: { type: 'belongs_to', model: 'user', references: 'subject', nullable: true },
    },
  },
}

/** The names of the fields of each model, the key first. */
export const FIELDS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(MODELS).map(([name, { fields }]) => [name, Object.keys(fields as Mapping)]),
)

const FILTERS: Readonly<Record<string, Json>> = {
  user: { subject: ['exact'] },
  team: { tenant: ['exact', 'gt', 'isnull'], name: ['exact', 'contains'], owner: ['exact'] },
  membership: { user: ['exact'], team: ['exact', 'in'], 'team.tenant': ['exact', 'isnull'], 'user.subject': ['exact'] },
  note: {
    title: ['exact', 'startswith'],
    cost: ['exact', 'gt', 'ne', 'isnull'],
    state: ['exact', 'in'],
    owner: ['exact'],
    team: ['exact', 'in'],
    public: ['exact'],
    reviewer: ['exact'],
    'team.name': ['exact', 'contains'],
    'team.owner.subject': ['exact'],
    'next.state': ['exact', 'in'],
    'next.cost': ['gt', 'isnull'],
  },
}

const condition = (...values: readonly (readonly [string, Json])[]) => fc.constantFrom(...values)

const NOTE = condition(
  ['team__in', '$my_teams'],
  ['team__in', '$tenant_teams'],
  ['team', 1],
  ['team.tenant', '$tenant'],
  ['team.tenant', 7],
  ['team.owner', '$user'],
  ['team.owner.subject', '$sub'],
  ['state', 'open'],
  ['state__in', ['open', 'done']],
  ['cost__gt', 2],
  ['cost__ne', 5],
  ['cost__isnull', true],
  ['cost__in', '$limits'],
  ['cost__range', [2, 5]],
  ['owner', '$sub'],
  ['owner__isnull', false],
  ['public', true],
  ['title__startswith', 'a'],
  ['title__icontains', 'B'],
  ['next.state', 'open'],
  ['next.team.tenant', '$tenant'],
  ['next__isnull', true],
  ['reviewer', '$sub'],
  ['reviewer.subject', '$sub'],
)
const TEAM = condition(
  ['id__in', '$my_teams'],
  ['tenant', '$tenant'],
  ['tenant__gt', 7],
  ['owner', '$user'],
  ['owner.subject', '$sub'],
  ['name__contains', 'a'],
)
const MEMBERSHIP = condition(['user', '$user'], ['team__in', '$my_teams'], ['team.tenant', '$tenant'], ['team__ne', 2])
const USER = condition(['subject', '$sub'], ['id', '$user'], ['subject__startswith', 'a'])
const CONDITIONS: Readonly<Record<string, fc.Arbitrary<readonly [string, Json]>>> = {
  user: USER,
  team: TEAM,
  membership: MEMBERSHIP,
  note: NOTE,
}

const SETS: Readonly<Record<string, readonly Mapping[]>> = {
  user: [{ subject: 'made' }],
  team: [{ owner: '$user' }, { tenant: '$tenant' }],
  membership: [{ user: '$user' }],
  note: [{ owner: '$sub' }, { cost: 5 }, { owner: '$sub', state: 'done' }, { team: 1 }, { reviewer: '$sub' }],
}

/** The grants of one resource. */
export const grantsOf = (model: string): fc.Arbitrary<readonly Json[]> => {
  const names = FIELDS[model] ?? []
  const one = CONDITIONS[model] ?? USER
  const all = fc
    .uniqueArray(one, { minLength: 1, maxLength: 2, selector: ([name]) => name })
    .map((some): Mapping => Object.fromEntries(some))
  const rule: fc.Arbitrary<Json> = fc.oneof(
    { weight: 3, arbitrary: all },
    { weight: 1, arbitrary: fc.array(all, { minLength: 1, maxLength: 2 }) },
  )
  const some = fc.subarray([...names], { minLength: 1 })
  const fields: fc.Arbitrary<Json> = fc.oneof(
    some,
    fc.subarray(names.slice(1), { minLength: 1 }).map((except) => ({ except })),
  )
  const maybe = <Value>(arbitrary: fc.Arbitrary<Value>, freq = 3) => fc.option(arbitrary, { nil: undefined, freq })
  return fc.array(
    fc
      .record({
        to: fc.constantFrom('anyone', 'signed_in', 'signed_in', 'reader', 'writer'),
        may: fc.oneof(
          fc.constantFrom<Json>('all', 'all', 'read', 'change', 'create', 'destroy'),
          fc.subarray(['read', 'list', 'retrieve', 'create', 'update', 'partial_update', 'change', 'destroy'], {
            minLength: 1,
            maxLength: 4,
          }),
        ),
        rows: maybe(rule),
        becomes: maybe(rule, 2),
        fields: maybe(fields, 2),
        set: maybe(fc.constantFrom(...(SETS[model] ?? [])), 2),
      })
      .map(({ to, may, rows, becomes, fields: shown, set }) => {
        const names = [may].flat()
        const changes = names.some((name) => ['all', 'change', 'update', 'partial_update'].includes(String(name)))
        const creates = names.some((name) => ['all', 'create'].includes(String(name)))
        return {
          to,
          may,
          ...(rows !== undefined && { rows }),
          ...(becomes !== undefined && changes && { becomes }),
          ...(shown !== undefined && { fields: shown }),
          ...(set !== undefined && (changes || creates) && { set }),
        }
      }),
    { minLength: 1, maxLength: 4 },
  )
}

const NAMES = ['ann', 'bob', 'eve'] as const

const identity = fc
  .record({
    roles: fc.subarray(['reader', 'writer']),
    tenant: fc.constantFrom<Json | undefined>(7, 8, '7', undefined),
    limits: fc.constantFrom<Json | undefined>([1, 5], [2], 5, ['5'], undefined),
  })
  .map(({ roles, tenant, limits }) => ({
    roles,
    claims: { ...(tenant !== undefined && { tenant }), ...(limits !== undefined && { limits }) },
  }))

export interface RandomIdentity {
  readonly roles: readonly string[]
  readonly claims: Mapping
}

const small = fc.integer({ min: 1, max: 3 })
const word = fc.constantFrom('a', 'ab', 'b', 'Ba', 'c')
const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null, freq: 3 })

const note = fc.record({
  team: orNull(small),
  title: word,
  state: fc.constantFrom('open', 'done', 'gone'),
  cost: orNull(fc.integer({ min: 0, max: 6 })),
  owner: orNull(fc.constantFrom(...NAMES)),
  public: fc.boolean(),
  next: orNull(small),
  code: orNull(fc.constantFrom('k', 'l', 'm', 'n')),
  reviewer: orNull(fc.constantFrom('ann', 'bob')),
})
/** Eve is not a user. */
const sentNote = note.chain((values) => orNull(fc.constantFrom(...NAMES)).map((reviewer) => ({ ...values, reviewer })))
const team = fc.record({
  tenant: orNull(fc.constantFrom(7, 8)),
  name: word,
  owner: orNull(fc.constantFrom(1, 2)),
})
const membership = fc.record({ user: orNull(fc.constantFrom(1, 2)), team: orNull(small) })
const user = fc.record({ subject: fc.constantFrom('ann', 'bob', 'zoe', 'made', 'kim') })
const VALUES: Readonly<Record<string, fc.Arbitrary<Mapping>>> = { user, team, membership, note: sentNote }

/** Rows of all tables but users, who are always Ann, Bob and Zoe. */
export interface RandomRows {
  readonly teams: readonly Mapping[]
  readonly memberships: readonly Mapping[]
  readonly notes: readonly Mapping[]
}

export interface RandomRequest {
  /** Undefined for a caller who has not signed in. */
  readonly who: string | undefined
  readonly resource: string
  readonly operation: 'list' | 'create' | 'retrieve' | 'update' | 'partial_update' | 'destroy'
  readonly id: number
  readonly filter: readonly [field: string, lookup: string, text: string] | undefined
  readonly search: string | undefined
  readonly order: readonly [field: string, descending: boolean] | undefined
  readonly distinct: string | undefined
  readonly body: Mapping
  /** Whether the body also has the members of the record that the caller sees. */
  readonly whole: boolean
  readonly match: 'none' | 'none' | 'current' | 'earlier' | 'wrong'
  /** Where the resource is served: at the prefix, at a mount, or in a dialect. */
  readonly mount: '' | '/more' | '/crud'
  /** The relations whose records a read includes. */
  readonly expand: readonly string[]
  /** Whether a list is downloaded. */
  readonly exported: boolean
  /** Whether a new record is sent with an idempotency key, once more, and by another caller. */
  readonly keyed: boolean
  /** The records of a request that writes several; undefined for one record. */
  readonly several: readonly { readonly id: number; readonly body: Mapping }[] | undefined
}

const FILTER_TEXTS: Readonly<Record<string, readonly string[]>> = {
  exact: ['1', '2', '5', '7', 'a', 'open', 'ann', 'true', 'false'],
  gt: ['1', '4', '7'],
  ne: ['5', '2'],
  isnull: ['true', 'false'],
  in: ['1,2', '3', 'open,done', 'gone'],
  contains: ['a'],
  startswith: ['a', 'B'],
}

/** Texts that fit the type of a field. */
const FITTING: Readonly<Record<string, RegExp>> = {
  tenant: /^\d+$/,
  cost: /^\d+$/,
  owner: /^/,
  team: /^\d+(?:,\d+)*$/,
  user: /^\d+(?:,\d+)*$/,
  state: /^(?:open|done|gone)(?:,done)?$/,
  public: /^(?:true|false)$/,
}

const filtersOf = (model: string): readonly (readonly [string, string, string])[] =>
  Object.entries(FILTERS[model] as Readonly<Record<string, readonly string[]>>).flatMap(([field, lookups]) =>
    lookups.flatMap((lookup) =>
      (FILTER_TEXTS[lookup] ?? [])
        .filter((text) => lookup === 'isnull' || (FITTING[field.split('.').at(-1) ?? ''] ?? /^/).test(text))
        .filter((text) => !(model === 'team' && field === 'owner') || /^\d$/.test(text))
        .map((text) => [field, lookup, text] as const),
    ),
  )

const RELATIONS: Readonly<Record<string, readonly string[]>> = {
  user: [],
  team: ['owner'],
  membership: ['user', 'team'],
  note: ['team', 'next', 'reviewer'],
}

const bodyOf = (resource: string): fc.Arbitrary<Mapping> =>
  ((VALUES[resource] ?? user) as fc.Arbitrary<Mapping>).chain((values) =>
    fc
      .subarray(Object.keys(values))
      .map((some) => Object.fromEntries(some.map((name) => [name, values[name] ?? null]))),
  )

const requestOf = (resource: string): fc.Arbitrary<RandomRequest> => {
  const names = (FIELDS[resource] ?? []).slice(1)
  const rare = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
  const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
    fc.tuple(fc.nat(5), arbitrary).map(([chance, value]) => (chance === 0 ? value : undefined))
  return fc.record({
    who: fc.constantFrom(...NAMES, ...NAMES, undefined),
    resource: fc.constant(resource),
    operation: fc.constantFrom(
      'list',
      'list',
      'list',
      'retrieve',
      'retrieve',
      'create',
      'partial_update',
      'partial_update',
      'update',
      'destroy',
    ),
    id: fc.integer({ min: 1, max: resource === 'note' ? 8 : 4 }),
    filter: rare(fc.constantFrom(...filtersOf(resource))),
    search: resource === 'note' ? seldom(fc.constantFrom('a', 'b', 'ann')) : fc.constant(undefined),
    order: seldom(fc.tuple(fc.constantFrom(...names), fc.boolean())),
    distinct: seldom(fc.constantFrom(...names)),
    body: bodyOf(resource),
    whole: fc.boolean(),
    match: fc.constantFrom('none', 'none', 'current', 'earlier', 'wrong'),
    mount: fc.constantFrom('', '', '/more', '/crud'),
    expand: seldom(fc.subarray([...(RELATIONS[resource] ?? [])])).map((some) => some ?? []),
    exported: fc.nat(7).map((chance) => chance === 0),
    keyed: fc.nat(3).map((chance) => chance === 0),
    several: seldom(
      fc.uniqueArray(
        fc.record({ id: fc.integer({ min: 1, max: resource === 'note' ? 8 : 4 }), body: bodyOf(resource) }),
        { minLength: 1, maxLength: 3, selector: ({ id }) => id },
      ),
    ),
  })
}

export interface RandomAccess {
  readonly access: Readonly<Record<string, readonly Json[]>>
  readonly identities: Readonly<Record<string, RandomIdentity>>
  readonly rows: RandomRows
  readonly requests: readonly RandomRequest[]
}

/** The configuration with some grants and callers. */
export function yamlOf(
  access: Readonly<Record<string, readonly Json[]>>,
  identities: Readonly<Record<string, RandomIdentity>>,
): string {
  const resources = Object.fromEntries(
    Object.entries(access).map(([name, grants]) => [
      name,
      {
        model: name,
        path: `/${name}s/`,
        pagination: { count: 'exact', page_size: 100, max_page_size: 100 },
        filterable: FILTERS[name] ?? {},
        orderable: (FIELDS[name] ?? []).slice(1),
        distinct: (FIELDS[name] ?? []).slice(1),
        ...(name === 'note' && { search: ['title', 'owner'], nulls: { cost: 'first', owner: 'last' } }),
        ...((RELATIONS[name] ?? []).length > 0 && { expand: RELATIONS[name] ?? [] }),
        bulk: ['create', 'partial_update', 'destroy'],
        idempotency: 'optional',
        export: true,
        access: grants,
      },
    ]),
  )
  const auth = {
    roles: { names: ['reader', 'writer'] },
    claims: { tenant: { type: 'integer' }, limits: { type: 'integer' } },
    user: { model: 'user', match: 'subject' },
    sets: {
      my_teams: { of: 'membership.team', rows: { user: '$user' } },
      tenant_teams: { of: 'team.id', rows: { tenant: '$tenant' } },
    },
    development: identities,
  }
  const mounts = [{ path: '/more' }, { path: '/crud', dialect: 'crud' }]
  return JSON.stringify({ version: 1, api: { prefix: '' }, auth, models: MODELS, resources, mounts }, null, 1)
}

/** Random grants, callers, rows and requests. */
export const randomAccess = (requests: number): fc.Arbitrary<RandomAccess> =>
  fc.record({
    access: fc.record({
      user: grantsOf('user'),
      team: grantsOf('team'),
      membership: grantsOf('membership'),
      note: grantsOf('note'),
    }),
    identities: fc.record({ ann: identity, bob: identity, eve: identity }),
    rows: fc.record({
      teams: fc.array(team, { minLength: 3, maxLength: 3 }),
      memberships: fc.array(membership, { maxLength: 4 }),
      notes: fc.uniqueArray(note, {
        minLength: 3,
        maxLength: 7,
        selector: ({ code }) => code ?? Symbol('none'),
      }),
    }),
    requests: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: requestOf('note') },
        { weight: 2, arbitrary: requestOf('team') },
        { weight: 1, arbitrary: requestOf('membership') },
        { weight: 1, arbitrary: requestOf('user') },
      ),
      { minLength: 1, maxLength: requests, size: 'max' },
    ),
  })
