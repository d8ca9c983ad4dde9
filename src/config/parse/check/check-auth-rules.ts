import type { Json } from '../../../foundation/json.js'
import { ANYONE, SIGNED_IN } from '../../access-spec.js'
import type { ModelSpec } from '../../model-spec.js'
import { itemsOf, membersOf } from '../../schema/yaml-shape.js'
import { nameOf, show, suggest } from '../../words.js'
import { findValue, type Path } from '../../yaml/located.js'
import { buildRule, readRule, type RuleDraft, type RuleParts } from '../access-rules.js'
import type { AuthDraft } from '../auth-draft.js'
import type { Drafts, ModelDraft } from '../drafts.js'
import { checkFieldName } from '../field-names.js'
import type { Report } from '../report.js'

/** Builds the parts that conditions refer to, for a configuration without mistakes. */
export type BuildRuleParts = (models: ReadonlyMap<string, ModelSpec>) => RuleParts

const NOTHING: BuildRuleParts = (models) => ({ models, user: undefined, sets: new Map() })

/** Names of variables that no claim and no set can have. */
const OWN = ['sub', 'user']

/** Reports mistakes in `auth.user` and `auth.sets`. */
export function checkAuthRules(
  root: Json,
  { auth, models }: { readonly auth: AuthDraft | undefined; readonly models: Drafts },
  report: Report,
): BuildRuleParts {
  if (auth === undefined) return NOTHING
  checkRoles(root, auth, report)
  const { user } = auth
  if (user && !report.isInvalid(['auth', 'user'])) checkUser(user, models, report)
  const sets = [...auth.sets].map(([name, set]) => {
    const path = ['auth', 'sets', name]
    const isTaken = OWN.includes(name) || auth.claims.has(name)
    if (isTaken) {
      const owner = OWN.includes(name) ? 'a variable of every rule' : 'a claim'
      report.add({
        code: 'SC304',
        path,
        part: 'key',
        message: `a set cannot be called ${show(name)}: that is ${owner}`,
      })
    }
    const model = modelAt(set.model, [...path, 'of'], models, report)
    const isKnown = model !== undefined && checkFieldName(model, set.field, { path: [...path, 'of'] }, report)
    const rows: RuleDraft =
      model && isKnown && set.rows !== undefined && !report.isInvalid([...path, 'rows'])
        ? readRule(set.rows, model, [...path, 'rows'], { models, auth, report, inSet: true })
        : []
    return { name, ...set, rows }
  })
  for (const name of auth.claims.keys()) {
    if (!OWN.includes(name)) continue
    const message = `a claim cannot be called ${show(name)}: that is a variable of every rule`
    report.add({ code: 'SC304', path: ['auth', 'claims', name], part: 'key', message })
  }
  return (built) => {
    const parts: RuleParts = { models: built, user: user && buildUser(user, built), sets: new Map() }
    return {
      ...parts,
      sets: new Map(
        sets.map(({ name, model: named, field, rows }) => {
          const model = need(built.get(named))
          return [name, { name, model, field: fieldOf(model, field), rows: buildRule(rows, model, parts) }]
        }),
      ),
    }
  }
}

/** Reports names that no role can have, and roles that `auth.roles` does not have. */
function checkRoles(root: Json, { roles }: AuthDraft, report: Report): void {
  for (const [index, name] of roles.entries()) {
    if (name !== ANYONE && name !== SIGNED_IN) continue
    const message = `a role cannot be called ${show(name)}: that is a word of grants`
    report.add({ code: 'SC304', path: ['auth', 'roles', 'names', index], message })
  }
  const known = [ANYONE, SIGNED_IN, ...roles]
  const check = (name: Json, path: Path, all: readonly string[]) => {
    if (report.isInvalid(path) || all.includes(nameOf(name))) return
    const message = `${show(nameOf(name))} is not a role in \`auth.roles\``
    report.add({ code: 'SC333', path, message, help: suggest(nameOf(name), all, 'role') })
  }
  for (const [route, who] of membersOf(findValue(root, ['auth', 'routes']))) {
    const path = ['auth', 'routes', route]
    if (!Array.isArray(who)) check(who, path, known)
    for (const [index, name] of itemsOf(who).entries()) check(name, [...path, index], known)
  }
  for (const [caller, identity] of membersOf(findValue(root, ['auth', 'development'])))
    for (const [index, name] of itemsOf(findValue(identity, ['roles'])).entries())
      check(name, ['auth', 'development', caller, 'roles', index], roles)
}

function checkUser({ model: name, match }: NonNullable<AuthDraft['user']>, models: Drafts, report: Report): void {
  const path = ['auth', 'user']
  const model = modelAt(name, [...path, 'model'], models, report)
  if (model === undefined) return
  if (model.key.length !== 1)
    report.add({
      code: 'SC331',
      path: [...path, 'model'],
      message: `${show(name)} cannot identify callers: its primary key does not have exactly one field`,
    })
  const at = [...path, 'match']
  if (!checkFieldName(model, match, { path: at }, report)) return
  const field = model.fields.get(match)
  if (field === undefined || report.isUncertain(field.path)) return
  if (field.yaml.unique === true || model.key.includes(field)) return
  const message = `${show(match)} cannot have the subjects of callers: it is not unique`
  report.add({ code: 'SC331', path: at, message, help: ['add `unique: true` to the field'] })
}

function modelAt(name: string, path: Path, models: Drafts, report: Report): ModelDraft | undefined {
  if (report.isInvalid(path)) return undefined
  if (!models.has(name)) {
    const help = suggest(name, [...models.keys()], 'model')
    report.add({ code: 'SC306', path, message: `no model is named ${show(name)}`, help })
  }
  return models.get(name)
}

function buildUser({ model: name, match }: NonNullable<AuthDraft['user']>, models: RuleParts['models']) {
  const model = need(models.get(name))
  return { model, key: need(model.key[0]), match: fieldOf(model, match) }
}

function fieldOf({ fields }: ModelSpec, name: string) {
  return need(fields.find((each) => each.name === name))
}

function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the configuration passed its checks, yet a part of it is missing')
  return value
}
