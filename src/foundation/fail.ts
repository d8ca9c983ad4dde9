/**
 * Throws in an expression.
 * @throws TypeError with this message
 */
export function fail(message: string): never {
  throw new TypeError(message)
}
