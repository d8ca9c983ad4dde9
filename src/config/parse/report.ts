import type { Diagnostic } from '../diagnostic.js'
import type { ConfigDocument } from '../yaml/document.js'
import type { Path } from '../yaml/located.js'
import type { Refusal } from './refusal.js'

/** The diagnostic that a refusal is, with its place in the file. Later stages point into the document with it. */
export const diagnosticAt = (
  document: ConfigDocument,
  { code, path, part, message, help }: Refusal,
  severity: Diagnostic['severity'] = 'error',
): Diagnostic => ({
  code,
  severity,
  message,
  file: document.file,
  range: document.locate(path, part),
  help,
})

/** A refusal whose place is the value unless it says otherwise. */
type Mistake = Pick<Refusal, 'code' | 'path' | 'message'> & Partial<Refusal>

/** Collects what is wrong with one document, and remembers which parts of it nothing can be concluded from. */
export interface Report {
  add(mistake: Mistake): void
  /** Marks a value, and all that it is part of, as of the wrong shape. */
  spoil(path: Path): void
  /** Whether the value at a path, or anything in it, has the wrong shape. */
  isSpoiled(path: Path): boolean
  /** Marks a mapping as holding a key that is not known, so that a key missing there may be that one. */
  doubt(path: Path): void
  isDoubtful(path: Path): boolean
  /** Where a key starts, to tell which of two stands later. */
  offset(path: Path): number
  /** In file order. */
  diagnostics(): Diagnostic[]
}

/** An empty report on a document. */
export const createReport = (document: ConfigDocument): Report => {
  const found: Diagnostic[] = []
  const spoiled = new Set<string>()
  const doubtful = new Set<string>()
  return {
    add: (mistake) => void found.push(diagnosticAt(document, { part: 'value', help: [], ...mistake })),
    spoil: (path) => mark(spoiled, path),
    isSpoiled: (path) => spoiled.has(pointer(path)),
    doubt: (path) => mark(doubtful, path),
    isDoubtful: (path) => doubtful.has(pointer(path)),
    offset: (path) => document.locate(path, 'key').start.offset,
    diagnostics: () => [...found].sort((one, other) => one.range.start.offset - other.range.start.offset),
  }
}

const pointer = (path: Path): string => JSON.stringify(path.map(String))

const mark = (marks: Set<string>, path: Path): void => {
  for (let length = path.length; length > 0; length -= 1) marks.add(pointer(path.slice(0, length)))
}
