import { createRequire } from 'node:module'
import type { Ajv2020 } from 'ajv/dist/2020.js'

export type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

/** The class of Ajv's compilers. It is large and most servers answer requests without it, so it is loaded at the first call. */
export function loadAjv(): typeof Ajv2020 {
  return (createRequire(import.meta.url)('ajv/dist/2020.js') as { readonly Ajv2020: typeof Ajv2020 }).Ajv2020
}
