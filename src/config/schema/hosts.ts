import type { JsonSchema } from '../../json.js'
import { HOST_PATTERN } from '../host.js'
import { doc, listOf } from './parts.js'

const HINT =
  'a host is a name or address in lower case without a scheme or port, such as `api.example.org`, `[::1]` or `*.example.org`'

/** The schema of `api.hosts`. */
export function hostsSchema(): JsonSchema {
  return doc(
    listOf(
      {
        pattern: `^(?=[^A-Z]*$)${HOST_PATTERN}$`,
        patternErrorMessage: HINT,
        maxLength: 253,
      },
      { maxItems: 100 },
    ),
    'Hosts of the service, with any port; others are 421. By default any host, but on loopback in development only local names.',
    'hosts: [api.example.org]',
  )
}
