import type { AuthSpec } from '../config/spec.js'
import type { Json } from '../json.js'

/** Returns the claims whose values have the declared types; other claims are ignored. */
export function typedClaims({ claims }: AuthSpec, given: (claim: AuthSpec['claims'][number]) => Json | undefined) {
  const found = claims.flatMap((claim): readonly (readonly [string, Json])[] => {
    const value = given(claim)
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    return value !== undefined && items.every((item) => typeof item === claim.type) ? [[claim.name, value]] : []
  })
  return Object.fromEntries(found)
}
