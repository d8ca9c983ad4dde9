/**
 * The one definition of a host, in parts of regular expressions: a name, an IPv4 address, or an IPv6 address in brackets. The last label of a
 * name is not a number, because clients read such a name as an IPv4 address.
 */
const LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?'
const NUMBER = '(?:[0-9]+|0[Xx][0-9A-Fa-f]*)(?![A-Za-z0-9_-])'
const NAME = `(?:${LABEL}\\.)*(?!${NUMBER})${LABEL}`

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`

const GROUP = '[0-9A-Fa-f]{1,4}'
const LAST_GROUPS = `(?:${GROUP}:${GROUP}|${IPV4})`
/** By the grammar of RFC 3986: at most this many groups before `::`, and these after it. */
const IPV6 = [
  `(?:${GROUP}:){6}${LAST_GROUPS}`,
  ...[5, 4, 3, 2, 1, 0].map((behind, before) => `${upTo(before)}::(?:${GROUP}:){${behind}}${LAST_GROUPS}`),
  `${upTo(6)}::${GROUP}`,
  `${upTo(7)}::`,
].join('|')

function upTo(groups: number): string {
  return groups === 0 ? '' : `(?:(?:${GROUP}:){0,${groups - 1}}${GROUP})?`
}

const ADDRESS = `${IPV4}|\\[(?:${IPV6})\\]`

export const HOST = `(?:${NAME}|${ADDRESS})`
/** A host, or all names below one. */
export const HOST_PATTERN = `(?:(?:\\*\\.)?${NAME}|${ADDRESS})`
export const PORT = '(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'

/** Whether the address of a socket is a loopback address. */
export function isLoopback(address = ''): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.')
}
