import type { CsvCell } from '../resource/lists/csv-row.js'
import { UnreadableData } from './record.js'

export interface CsvRow {
  /** The line on which it starts. */
  readonly line: number
  readonly cells: readonly CsvCell[]
}

type State = 'start' | 'plain' | 'quoted' | 'closing' | 'return'

/**
 * Returns a CSV parser (RFC 4180; LF line ends are accepted) that takes pieces of text and returns the rows that they complete. Empty lines are
 * skipped. It throws UnreadableData for a misplaced quote.
 */
export function createCsvReader() {
  let state: State = 'start'
  let cell = ''
  let cells: CsvCell[] = []
  let line = 1
  let begun = 1

  const endCell = (value: CsvCell) => {
    cells.push(value)
    cell = ''
    state = 'start'
  }
  const endRow = (rows: CsvRow[]) => {
    if (cells.length > 1 || cells[0] !== null) rows.push({ line: begun, cells })
    cells = []
    begun = line
  }
  const reject = (message: string): never => {
    throw new UnreadableData(line, message)
  }

  const take = (character: string, rows: CsvRow[]): void => {
    if (character === '\n') line += 1
    if (state === 'quoted') {
      if (character === '"') state = 'closing'
      else cell += character
    } else if (state === 'return' && character !== '\n') {
      reject('a carriage return without a line feed is only allowed in a quoted cell')
    } else if (character === '"') {
      if (state === 'plain') reject('a quote is only allowed in a cell that starts with one')
      if (state === 'closing') cell += '"'
      state = 'quoted'
    } else if (character === ',') {
      endCell(state === 'start' ? null : cell)
    } else if (character === '\n') {
      if (state !== 'return') endCell(state === 'start' ? null : cell)
      endRow(rows)
      state = 'start'
    } else if (character === '\r') {
      endCell(state === 'start' ? null : cell)
      state = 'return'
    } else {
      if (state === 'closing') reject('text follows the closing quote of a cell')
      cell += character
      state = 'plain'
    }
  }

  return {
    /** The line of the next character. */
    line: () => line,
    read(text: string): readonly CsvRow[] {
      const rows: CsvRow[] = []
      for (const character of text) take(character, rows)
      return rows
    },
    end(): readonly CsvRow[] {
      const rows: CsvRow[] = []
      if (state === 'quoted') reject(`a quoted cell of the row that starts in line ${begun} is never closed`)
      if (state === 'return' || (state === 'start' && cells.length === 0)) return rows
      endCell(state === 'start' ? null : cell)
      endRow(rows)
      return rows
    },
  }
}
