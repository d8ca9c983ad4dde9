import { FIELD_TYPES } from '../../fields/index.js'
import { configSchema } from './schema.js'
import { doc } from './parts.js'

/** Editors suggest only field types that allow the keys already present, unless all types are listed outside of `oneOf`. */
const TYPE_NAMES = doc({ enum: FIELD_TYPES.map((type) => type.name) }, 'The type of the field.')

function forEditors(_key: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'discriminator' in value
    ? { ...value, properties: { type: TYPE_NAMES } }
    : value
}

/** The text of resources.schema.json: the schema, with additions for editors. */
export function renderConfigSchema(): string {
  return `${JSON.stringify(configSchema(), forEditors, 2)}\n`
}
