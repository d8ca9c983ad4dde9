import type { Answer } from '../market.js'
import { ApiError } from './generated/index.js'

/** It tells no status of what was done, and counts the `default` answer among what may come of it. */
export async function told<Data, Wanted extends Data>(
  status: number,
  asked: Promise<Data>,
  isWanted: (data: Data) => data is Wanted,
): Promise<Answer<Wanted>> {
  try {
    const data = await asked
    return isWanted(data) ? { status, body: data } : { status, problem: data }
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, problem: error.body as unknown }
    throw error
  }
}

export function hasId<Data>(data: Data): data is Extract<Data, { readonly id: number }> {
  return typeof data === 'object' && data !== null && 'id' in data
}

export function isList<Data>(data: Data): data is Extract<Data, readonly unknown[]> {
  return Array.isArray(data)
}

export function isAny<Data>(_: Data): _ is Data {
  return true
}
