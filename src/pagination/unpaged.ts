import type { PaginationStyle } from './paginator.js'

export const unpaged: PaginationStyle = {
  name: 'none',
  summary: 'The whole list at once, for tables that stay small.',
  parameters: [],
  describe: () => [],
  read: () => ({ start: { offset: 0 }, limit: undefined, keyset: false, linkLength: 0, links: () => new Map() }),
}
