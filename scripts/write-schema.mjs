/** Writes resources.schema.json, which editors read, from the schema that `snippetctl check` itself uses. */
import { writeFileSync } from 'node:fs'
import { renderConfigSchema } from '../dist/src/config/schema/editors.js'

writeFileSync(new URL('../resources.schema.json', import.meta.url), renderConfigSchema())
