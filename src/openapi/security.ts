import type { AuthSpec } from '../config/spec.js'
import type { JsonPart } from './json-part.js'

/**
 * How clients sign in; undefined where they need not, or where a proxy does it for them. Ways that only plugins or development have are in the
 * header `Authorization`, in a form that the configuration does not know.
 */
export function securitySchemes(auth: AuthSpec | undefined): JsonPart | undefined {
  if (auth === undefined) return undefined
  const { jwt, keys, proxy } = auth
  const isBearer = keys || (jwt !== undefined && jwt.header === undefined)
  const bearer = { type: 'http', scheme: 'bearer', ...(!keys && { bearerFormat: 'JWT' }) }
  const assertion = { type: 'apiKey', in: 'header', name: jwt?.header }
  const other = { type: 'apiKey', in: 'header', name: 'Authorization' }
  const schemes = {
    ...(isBearer && { bearer }),
    ...(jwt?.header !== undefined && { assertion }),
  }
  if (Object.keys(schemes).length > 0) return schemes
  return proxy ? undefined : { authorization: other }
}

/** Any scheme, or none: which operations need a credential depends on the grants, and a wrong one is always rejected. */
export function requirements(schemes: JsonPart | undefined): readonly JsonPart[] {
  return schemes ? [...Object.keys(schemes).map((name) => ({ [name]: [] })), {}] : []
}
