import { fieldType } from '../../fields/index.js'
import type { FieldType } from '../../fields/field-type.js'
import type { Json } from '../../foundation/json.js'
import { itemsOf, membersOf } from '../schema/yaml-shape.js'
import { nameOf } from '../words.js'
import { findValue } from '../yaml/located.js'

/** What `auth` declares for rules, as far as its shape allows. */
export interface AuthDraft {
  readonly roles: readonly string[]
  /** The types of claims, by name. */
  readonly claims: ReadonlyMap<string, FieldType | undefined>
  readonly user: { readonly model: string; readonly match: string } | undefined
  readonly sets: ReadonlyMap<
    string,
    { readonly model: string; readonly field: string; readonly rows: Json | undefined }
  >
}

/** Reads `auth`; returns undefined if the file has none. */
export function draftAuth(root: Json): AuthDraft | undefined {
  const auth = findValue(root, ['auth'])
  if (auth === undefined) return undefined
  const user = findValue(auth, ['user'])
  return {
    roles: itemsOf(findValue(auth, ['roles', 'names'])).map(nameOf),
    claims: new Map(
      membersOf(findValue(auth, ['claims'])).map(([name, claim]) => [
        name,
        fieldType(nameOf(findValue(claim, ['type']) ?? 'string')),
      ]),
    ),
    user:
      user === undefined
        ? undefined
        : {
            model: nameOf(findValue(user, ['model']) ?? ''),
            match: nameOf(findValue(user, ['match']) ?? ''),
          },
    sets: new Map(
      membersOf(findValue(auth, ['sets'])).map(([name, set]) => {
        const [model = '', field = ''] = nameOf(findValue(set, ['of']) ?? '').split('.')
        return [name, { model, field, rows: findValue(set, ['rows']) }]
      }),
    ),
  }
}
