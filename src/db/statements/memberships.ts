import { identifier } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'
import { type Caller, CallerKey, type Membership } from '../../resource/access.js'
import type { Statement } from '../database.js'
import { parameters } from './parameters.js'
import { callerKeySql, ruleSql } from './rules.js'

/** Selects a text for each membership, by which its values for a caller can be compared with later ones. */
export function membershipStatement(memberships: readonly Membership[], caller: Caller): Statement {
  const params = parameters()
  const texts = memberships.map((membership) => {
    if ('user' in membership) return `${callerKeySql(new CallerKey(membership.user, caller), params)}::text`
    const { model, field, rows } = membership.set
    const name = identifier('@set')
    const value = `${name}.${identifier(field.column)}::text`
    const found = ruleSql(rows, name, { caller, params })
    return `(select md5(string_agg(distinct ${value}, ',' order by ${value})) from ${tableSql(model.table)} ${name} where ${found})`
  })
  return { text: `select ${texts.join(', ')}`, values: params.values, retry: true }
}
