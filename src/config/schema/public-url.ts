import type { JsonSchema } from '../../foundation/json.js'
import { HOST, PORT } from '../host.js'
import { doc, listOf } from './parts.js'

/** The pattern of `api.public_url`, and of the environment variable that overrides it. */
export const PUBLIC_URL = `^https?://${HOST}(?::${PORT})?(/[A-Za-z0-9._~-]+)*$`
export const PUBLIC_URL_HINT =
  'a public URL is like `https://api.example`: scheme, host, a port if need be, a path if something in front cuts it off, and no slash at the end'

const PROXY_HINT = 'a proxy is an IP address, or a range of them such as `10.0.0.0/8`'

/** The schemas of the keys of `api` that set the public URL. */
export function publicSchemas(): Readonly<Record<string, JsonSchema>> {
  return {
    public_url: doc(
      { type: 'string', pattern: PUBLIC_URL, patternErrorMessage: PUBLIC_URL_HINT, maxLength: 200 },
      'The URL of the service for clients. If set, links to other pages and `Location` are URLs, otherwise paths.',
      'public_url: https://api.example',
    ),
    trusted_proxies: doc(
      listOf(
        { pattern: '^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$', patternErrorMessage: PROXY_HINT, maxLength: 50 },
        { maxItems: 100 },
      ),
      'Addresses of proxies whose `Forwarded`, or `X-Forwarded-Proto` and `X-Forwarded-Host`, set the public URL of a request.',
      'trusted_proxies: [127.0.0.1, 10.0.0.0/8]',
    ),
  }
}
