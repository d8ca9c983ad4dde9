/** A number with separators between thousands. The first use of `toLocaleString` in a process takes 70 ms. */
export function grouped(digits: number | string): string {
  const text = String(digits)
  const first = text.length % 3 || 3
  return [text.slice(0, first), ...(text.slice(first).match(/\d{3}/g) ?? [])].join(',')
}
