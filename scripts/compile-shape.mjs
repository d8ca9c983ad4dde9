import { Ajv2020 } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'

/**
 * The module that Ajv generates from the schema of the configuration, to use in place of `src/config/schema/shape-validator`.
 * @param {{ configSchema: () => object, options: object }} shape the schema, and the options of Ajv
 */
export function compileShape({ configSchema, options }) {
  const ajv = new Ajv2020({ ...options, code: { source: true, esm: true } })
  const written = standalone.default(ajv, ajv.compile(configSchema()))
  return written.replace('export const validate =', 'export const validateShape =')
}
