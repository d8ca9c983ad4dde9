/** A cell of a CSV file: null if there is nothing between the commas, otherwise text. `""` is the empty text. */
export type CsvCell = string | null

/** Formats a row according to RFC 4180, with a line end. */
export function writeCsvRow(cells: readonly CsvCell[]): string {
  return `${cells.map(writeCell).join(',')}\r\n`
}

function writeCell(cell: CsvCell): string {
  if (cell === null) return ''
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
