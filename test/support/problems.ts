/** The status of a problem, the last part of its type, and `Retry-After`. */
export async function problemOf(
  answer: Response,
): Promise<readonly [status: number, type: string | undefined, retryAfter: string | null]> {
  const { type } = (await answer.json()) as { readonly type: string }
  return [answer.status, type.split('/').at(-1), answer.headers.get('retry-after')]
}
