import type { JsonSchema } from '../../foundation/json.js'
import { doc, flag, listOf, mapping } from './parts.js'

/** The defaults of `api.cors`. */
export const CORS_DEFAULTS = { credentials: false, max_age: 600, headers: [] } as const

const ORIGIN_HINT =
  'an origin is `*`, or like `https://app.example`: scheme and host in lower case, a port only if it is not the default, no trailing slash'
const HEADER_HINT = 'give only the name of the header, such as `X-Tenant`'

/** The schema of `api.cors`. */
export function corsSchema(): JsonSchema {
  const port = (scheme: string, own: number) =>
    `${scheme}://([a-z0-9.-]+|\\[[0-9a-f:.]+\\])(:(?!${own}$)[1-9][0-9]{0,4})?`
  const origin = {
    pattern: `^(\\*|${port('https', 443)}|${port('http', 80)})$`,
    patternErrorMessage: ORIGIN_HINT,
    maxLength: 300,
  }
  return mapping(
    '`cors`',
    {
      origins: doc(
        listOf(origin, { maxItems: 100 }),
        'Origins, as browsers send them; `*` for all.',
        'origins: [https://app.example, http://localhost:5173]',
      ),
      credentials: flag('Whether requests may have cookies and passwords.'),
      max_age: doc(
        { type: 'integer', minimum: 0, maximum: 86_400, default: CORS_DEFAULTS.max_age },
        'Seconds for which a browser may remember the permission.',
      ),
      headers: doc(
        listOf({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", patternErrorMessage: HEADER_HINT, maxLength: 100 }),
        'Further headers that requests may have.',
        'headers: [X-Tenant]',
      ),
    },
    ['origins'],
  )
}
