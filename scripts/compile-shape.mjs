import { Ajv2020 } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'

/** Texts of the schema that only people read. */
const TEXTS = new Set(['title', 'description', 'markdownDescription', 'patternErrorMessage', 'emptyErrorMessage'])

/**
 * The validators that Ajv generates from the schema of the configuration, as CommonJS modules.
 * @param {{ configSchema: () => object, options: object }} shape the schema, and the options of Ajv
 * @returns {{ whole: string, quick: string }} `whole` finds all errors. `quick` accepts the same values with a quarter of the code, because it
 * describes no errors.
 */
export function compileShape({ configSchema, options }) {
  const withoutTexts = JSON.stringify(configSchema(), (key, value) =>
    TEXTS.has(key) && typeof value === 'string' ? undefined : value,
  )
  // Ajv describes no errors inside `not`.
  const twiceNegated = { not: { not: JSON.parse(withoutTexts) } }
  const quickOptions = { ...options, allErrors: false, verbose: false, messages: false }
  return { whole: generate(configSchema(), options), quick: generate(twiceNegated, quickOptions) }
}

function generate(schema, options) {
  const ajv = new Ajv2020({ ...options, code: { source: true } })
  return standalone.default(ajv, ajv.compile(schema))
}
