import { checkConfig } from '../../src/config/parse/check.js'
import type { Diagnostic } from '../../src/config/diagnostic.js'
import { readConfig } from '../../src/config/yaml/document.js'
import type { AppSpec } from '../../src/config/spec.js'
import { createAll, wantedTables } from '../../src/migrations/plan/sql.js'

/** A configuration from its text or bytes: the spec, or everything that is wrong with it. */
export const checkText = (content: string | Uint8Array): AppSpec | Diagnostic[] => {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const document = readConfig(bytes, 'resources.yaml')
  return Array.isArray(document) ? document : checkConfig(document)
}

/** `line:column code` of each mistake; an empty list for a configuration in order. */
export const mistakesOf = (content: string | Uint8Array): string[] => {
  const result = checkText(content)
  if (!Array.isArray(result)) return []
  return result.map(({ range, code }) => `${range.start.line}:${range.start.column} ${code}`)
}

/** The spec of a configuration in order. @throws with the mistakes of any other */
export const specOf = (content: string): AppSpec => {
  const result = checkText(content)
  if (Array.isArray(result)) throw new Error(result.map(({ message }) => message).join('\n'))
  return result
}

/** The SQL that makes the tables of a configuration in an empty database. */
export const ddlOf = (spec: AppSpec): string => `${createAll(wantedTables(spec)).join(';\n\n')};\n`
