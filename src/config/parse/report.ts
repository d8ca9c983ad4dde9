import type { Diagnostic } from '../diagnostic.js'
import type { ConfigDocument } from '../yaml/document.js'
import type { Path } from '../yaml/located.js'
import type { Rejection } from './rejection.js'

/** The diagnostic for a mistake, with its place in the file. Later stages use it to point into the document. */
export function diagnosticAt(
  document: ConfigDocument,
  { code, path, part, message, help }: Rejection,
  severity: Diagnostic['severity'] = 'error',
): Diagnostic {
  return {
    code,
    severity,
    message,
    file: document.file,
    range: document.locate(path, part),
    help,
  }
}

/** A mistake is located at the value by default. */
type Mistake = Pick<Rejection, 'code' | 'path' | 'message'> & Partial<Rejection>

/** Collects the mistakes of a document, and marks the parts that cannot be checked further. */
export interface Report {
  add(mistake: Mistake): void
  /** Marks a value, and every mapping or list that contains it, as having the wrong shape. */
  markInvalid(path: Path): void
  /** Whether the value at a path, or a part of it, has the wrong shape. */
  isInvalid(path: Path): boolean
  /** Marks a mapping that has an unknown key, because a key that is missing there may be that one. */
  markUncertain(path: Path): void
  isUncertain(path: Path): boolean
  /** The offset of a key, to tell which of two keys comes later. */
  offset(path: Path): number
  /** In file order. */
  diagnostics(): Diagnostic[]
}

/** An empty report on a document. */
export function createReport(document: ConfigDocument): Report {
  const found: Diagnostic[] = []
  const invalid = new Set<string>()
  const uncertain = new Set<string>()
  return {
    add: (mistake) => void found.push(diagnosticAt(document, { part: 'value', help: [], ...mistake })),
    markInvalid: (path) => mark(invalid, path),
    isInvalid: (path) => invalid.has(pointer(path)),
    markUncertain: (path) => mark(uncertain, path),
    isUncertain: (path) => uncertain.has(pointer(path)),
    offset: (path) => document.locate(path, 'key').start.offset,
    diagnostics: () => [...found].sort((one, other) => one.range.start.offset - other.range.start.offset),
  }
}

function pointer(path: Path): string {
  return JSON.stringify(path.map(String))
}

function mark(marks: Set<string>, path: Path): void {
  for (let length = path.length; length > 0; length -= 1) marks.add(pointer(path.slice(0, length)))
}
