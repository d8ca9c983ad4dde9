import { FIELD_TYPES } from '../../fields/index.js'
import { configSchema } from './schema.js'
import { doc } from './parts.js'

/** Editors propose only those types of fields whose other keys are there already, unless all of them stand outside of `oneOf`. */
const TYPE_NAMES = doc({ enum: FIELD_TYPES.map((type) => type.name) }, 'The type of the field.')

const forEditors = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'discriminator' in value
    ? { ...value, properties: { type: TYPE_NAMES } }
    : value

/** The text of resources.schema.json: the schema, and what editors need besides. */
export const renderConfigSchema = (): string => `${JSON.stringify(configSchema(), forEditors, 2)}\n`
