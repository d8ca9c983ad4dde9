import { cursor } from './cursor.js'
import { limitOffset } from './limit-offset.js'
import { pageNumber } from './page-number.js'
import type { PaginationStyle } from './paginator.js'
import { unpaged } from './unpaged.js'

/** Every pagination style. A new one is its file and a line here. */
export const PAGINATION_STYLES: readonly PaginationStyle[] = [pageNumber, limitOffset, cursor, unpaged]

/** Finds a style by name. */
export function paginationStyle(name: string): PaginationStyle | undefined {
  return PAGINATION_STYLES.find((style) => style.name === name)
}
