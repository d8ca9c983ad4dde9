import { type Diagnostic, renderDiagnostics, type Style } from '../src/internal.js'
import type { Colors, Output } from './output.js'

interface FoundDiagnostics {
  readonly diagnostics: readonly Diagnostic[]
  /** The text of the configuration. */
  readonly source: string
}

interface FrameOptions {
  readonly limit?: number
  /** The last line; by default the number of errors. */
  readonly summary?: string
}

/** Prints the diagnostics of a configuration with excerpts and carets, and their number last. */
export function printFrames(to: Output, { diagnostics, source }: FoundDiagnostics, frame: FrameOptions = {}): void {
  const options = { style: styleWith(to.colors), ...frame }
  to.line(renderDiagnostics(diagnostics, source, options))
}

function styleWith(colors: Colors): Style {
  const paint = {
    error: colors.red,
    warning: colors.yellow,
    message: colors.bold,
    gutter: colors.blue,
    help: colors.cyan,
  }
  return (role, text) => paint[role](text)
}
