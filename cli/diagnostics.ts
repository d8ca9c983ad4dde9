import { type Diagnostic, renderDiagnostics, type Style } from '../src/internal.js'
import type { Colors, Output } from './output.js'

interface Judged {
  readonly diagnostics: readonly Diagnostic[]
  /** The text of the configuration. */
  readonly source: string
}

interface FrameOptions {
  readonly limit?: number
  /** The last line, in place of their number. */
  readonly summary?: string
}

/** Prints mistakes of a configuration as people read them: an excerpt with a caret for each, and their number last. */
export function printFrames(to: Output, { diagnostics, source }: Judged, frame: FrameOptions = {}): void {
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
