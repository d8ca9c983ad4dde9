import type { DiagnosticCode } from '../diagnostic-codes.js'
import type { Path } from '../yaml/located.js'

/** A mistake that is found only after the configuration was checked; it knows the path in the document, not the line. */
export interface Rejection {
  readonly code: DiagnosticCode
  readonly path: Path
  readonly part: 'key' | 'value'
  readonly message: string
  readonly help: readonly string[]
}
