import { checkConfig } from '../../src/config/parse/check/check.js'
import type { Diagnostic } from '../../src/config/diagnostic.js'
import { readConfig } from '../../src/config/yaml/document.js'
import type { AppSpec } from '../../src/config/spec.js'
import { createAll, wantedTables } from '../../src/migrations/plan/sql.js'
import { createView, wantedViews } from '../../src/migrations/plan/views.js'

/** Checks a configuration: returns the spec, or all diagnostics. */
export const checkText = (content: string | Uint8Array): AppSpec | Diagnostic[] => {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const document = readConfig(bytes, 'resources.yaml')
  return Array.isArray(document) ? document : checkConfig(document)
}

/** `line:column code` of each error; empty for a valid configuration. */
export const mistakesOf = (content: string | Uint8Array): string[] => {
  const result = checkText(content)
  if (!Array.isArray(result)) return []
  return result.map(({ range, code }) => `${range.start.line}:${range.start.column} ${code}`)
}

/** The spec of a valid configuration. @throws with the errors of an invalid one */
export const specOf = (content: string): AppSpec => {
  const result = checkText(content)
  if (Array.isArray(result)) throw new Error(result.map(({ message }) => message).join('\n'))
  return result
}

/** The SQL that creates the tables of a configuration. */
export const ddlOf = (spec: AppSpec): string =>
  `${[...createAll(wantedTables(spec)), ...wantedViews(spec).map(createView)].join(';\n\n')};\n`
