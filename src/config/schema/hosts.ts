import type { JsonSchema } from '../../json.js'
import { HOST_PATTERN } from '../host.js'
import { doc, listOf } from './parts.js'

const HINT =
  'a host is a name or address in lower case without a scheme or port, such as `api.example.org`, `[::1]` or `*.example.org`'

/** The schema of `api.hosts`. */
export const hostsSchema = (): JsonSchema =>
  doc(
    listOf(
      {
        pattern: `^(?=[^A-Z]*$)${HOST_PATTERN}$`,
        patternErrorMessage: HINT,
        maxLength: 253,
      },
      { maxItems: 100 },
    ),
    'The hosts that the service answers for, with any port; others are 421. Any host when left out, except that on loopback in development only local names are answered.',
    'hosts: [api.example.org]',
  )
