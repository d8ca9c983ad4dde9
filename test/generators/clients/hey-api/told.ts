import type { Answer } from '../market.js'

interface Result<Data> {
  readonly data?: Data | undefined
  readonly error?: unknown
  readonly response?: Response
}

export async function told<Data>(asked: Promise<Result<Data>>): Promise<Answer<Data>> {
  const { data, error, response } = await asked
  return { status: response?.status ?? 0, body: data, problem: error }
}
