import type { Answer } from '../market.js'

/** Bodies of the statuses that are no rejections. */
type Done<Result> = Result extends { readonly status: 200 | 201 | 204; readonly data: infer Data } ? Data : never

interface Told {
  readonly status: number
  readonly data: unknown
}

/** Its functions ask for paths; the service is somewhere. */
export function ask(baseUrl: string): void {
  const { fetch } = globalThis
  globalThis.fetch = (path, init) => fetch(new URL(String(path), baseUrl), init)
}

export async function told<Result extends Told>(asked: Promise<Result>): Promise<Answer<Done<Result>>> {
  const { status, data } = await asked
  return status < 300 ? { status, body: data as Done<Result> } : { status, problem: data }
}
