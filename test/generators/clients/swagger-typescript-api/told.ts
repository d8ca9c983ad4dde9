import type { Answer } from '../market.js'

interface Result<Data> {
  readonly status: number
  readonly data: Data
}

/** A rejection is thrown, as the response. */
export async function told<Data>(asked: Promise<Result<Data>>): Promise<Answer<Data>> {
  try {
    const { status, data } = await asked
    return { status, body: data }
  } catch (thrown) {
    const { status, error } = thrown as { readonly status: number; readonly error: unknown }
    return { status, problem: error }
  }
}
