import { createRequire } from 'node:module'
import type { Ajv2020 } from 'ajv/dist/2020.js'

/** The class of Ajv's compilers. Loaded at the first call: a server answers most requests without it, and it is large. */
export function loadAjv(): typeof Ajv2020 {
  return (createRequire(import.meta.url)('ajv/dist/2020.js') as { readonly Ajv2020: typeof Ajv2020 }).Ajv2020
}
