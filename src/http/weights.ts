const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Reads the weights of a header such as `Accept` (RFC 9110, 12.4.2): 1 without `q`, or with an invalid one.
 * @returns the highest weight of each name, in lower case
 */
export function readWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
    weights.set(name, Math.max(Number(weight ?? 1), weights.get(name) ?? 0))
  }
  return weights
}
