import { checkConfig } from '../../config/parse/check/check.js'
import type { AppSpec } from '../../config/spec.js'
import { readConfig } from '../../config/yaml/document.js'
import { MigrationError } from '../files/error.js'

/** The configuration in a text, or its errors, one sentence each. */
export function tryText(text: string, file: string): AppSpec | readonly string[] {
  const document = readConfig(new TextEncoder().encode(text), file)
  const spec = Array.isArray(document) ? document : checkConfig(document)
  return 'models' in spec ? spec : spec.map(({ range, message }) => `${file}:${range.start.line}: ${message}`)
}

/** @throws MigrationError with the errors of the text */
export function specOfText(text: string, file: string): AppSpec {
  const spec = tryText(text, file)
  if ('models' in spec) return spec
  throw new MigrationError(spec)
}
