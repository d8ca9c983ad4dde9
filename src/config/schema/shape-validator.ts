import { loadAjv, type ValidateFunction } from './ajv.js'
import { configSchema } from './schema.js'

/** Strict mode rejects keywords for editors. `verbose` gives each error the schema it failed. */
export const SHAPE_OPTIONS = {
  allErrors: true,
  verbose: true,
  discriminator: true,
  strict: false,
  ownProperties: true,
} as const

/**
 * Validates the shape of a configuration. Compiling the schema takes longer than all the rest of a start, so the build
 * puts code that Ajv generates in place of this module.
 */
export const validateShape: ValidateFunction = new (loadAjv())(SHAPE_OPTIONS).compile(configSchema())
