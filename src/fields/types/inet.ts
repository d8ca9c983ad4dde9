import { canonicalAddress, canonicalNetwork } from '../spelling/address.js'
import type { FieldType } from '../field-type.js'
import { ORDERED } from './integer-type.js'

interface Kind {
  readonly name: 'inet' | 'cidr'
  readonly format: 'address' | 'network'
  readonly canonical: (text: string) => string | undefined
  readonly message: string
  readonly samples: readonly string[]
}

function addressType({ name, format, canonical, message, samples }: Kind) {
  return {
    name,
    options: {},
    typescript: 'string',
    comparisons: ORDERED,
    orderable: true,
    key: true,
    escapes: () => true,
    column: () => name,
    fromColumn: ({ type }) => (type === name ? { expresses: [], options: () => ({}), literal: canonical } : undefined),
    samples: { columns: new RegExp(`^${name}`), texts: samples },
    rules: () => [{ name: 'type', schema: { type: 'string', format }, message }],
    // `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128` has 49 characters; each can be an escape of six bytes, and there are two quotes.
    maxBytes: () => 6 * 49 + 2,
    // The longest canonical form is `ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127`.
    longest: () => 43,
    read: (text) => text,
    parse: canonical,
    fromJson(json) {
      const value = canonical(String(json))
      if (value === undefined) throw new Error(`not of the type ${name}: ${String(json)}`)
      return value
    },
    write: (value) => value,
  } satisfies Partial<FieldType<string>>
}

/** An IP address. */
export const inet: FieldType<string> = {
  ...addressType({
    name: 'inet',
    format: 'address',
    canonical: canonicalAddress,
    message: 'must be an IP address such as 192.0.2.1 or 2001:db8::1, optionally with a prefix length (192.0.2.1/24)',
    samples: ['192.0.2.1', '192.0.2.1/24', '2001:db8::1', '::'],
  }),
  synonyms: ['ip', 'ip_address'],
  summary:
    'An IP address, of version 4 or 6, with a prefix length if it also names a network (192.0.2.1/24). Responses have the shortest form: ' +
    '2001:DB8:0::1/128 is returned as 2001:db8::1. IPv4 addresses come before IPv6 addresses; within a version, they are ordered by network.',
  // The text of an `inet` always has a prefix length, also `/32` or `/128` for a single address.
  select: (column) =>
    `case when masklen(${column}) = case family(${column}) when 4 then 32 else 128 end then host(${column}) else ${column}::text end`,
  examples: [
    { json: '192.0.2.1', text: '192.0.2.1', value: '192.0.2.1' },
    { json: '192.0.2.1/24', text: '192.0.2.1/24', value: '192.0.2.1/24' },
    { json: '2001:DB8:0:0::1/128', wire: '2001:db8::1', text: '2001:db8:0::1', value: '2001:db8::1' },
    { json: '::ffff:192.0.2.1', text: '::ffff:c000:201', value: '::ffff:192.0.2.1' },
    { json: '::', text: '::', value: '::' },
    { json: '1:0:0:2::3', wire: '1:0:0:2::3', text: '1:0:0:2:0:0:0:3', value: '1:0:0:2::3' },
  ],
}

/** A network of IP addresses. */
export const cidr: FieldType<string> = {
  ...addressType({
    name: 'cidr',
    format: 'network',
    canonical: canonicalNetwork,
    message: 'must be a network such as 192.0.2.0/24 or 2001:db8::/32, with only zero bits after the prefix',
    samples: ['192.0.2.0/24', '10.0.0.0/8', '2001:db8::/32', '0.0.0.0/0'],
  }),
  synonyms: ['network', 'subnet'],
  // Indexes have addresses, for which PostgreSQL leaves out the length of a whole address.
  print: (value) => value.replace(/^([^:]*)\/32$|\/128$/, '$1'),
  summary:
    'A network of IP addresses with its prefix length, such as 192.0.2.0/24. Bits after the prefix must be zero; an address without a prefix ' +
    'length is a network of one address.',
  examples: [
    { json: '192.0.2.0/24', text: '192.0.2.0/24', value: '192.0.2.0/24' },
    { json: '2001:DB8::/32', wire: '2001:db8::/32', text: '2001:db8:0::/32', value: '2001:db8::/32' },
    { json: '192.0.2.1', wire: '192.0.2.1/32', text: '192.0.2.1/32', value: '192.0.2.1/32' },
    { json: '0.0.0.0/0', text: '0.0.0.0/0', value: '0.0.0.0/0' },
  ],
}
