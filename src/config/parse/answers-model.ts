import type { ConfigYaml, ModelYaml } from '../schema/yaml-shape.js'

/** The model and the table of stored responses for idempotency keys. No model of a file has this name. */
export const ANSWERS = 'snippetctl_answers'

/** A response is stored in the transaction that it reports; until then its row has only the key. */
const MODEL: ModelYaml = {
  managed: true,
  fields: {
    id: { type: 'bigint', primary_key: true },
    key: { type: 'string', max: 255, unique: true } as ModelYaml['fields'][string],
    request: { type: 'string', max: 43 } as ModelYaml['fields'][string],
    status: { type: 'integer', nullable: true },
    headers: { type: 'json', nullable: true },
    body: { type: 'text', nullable: true },
    expires_at: { type: 'timestamp' },
  },
  indexes: [['expires_at']],
}

/** Adds the model of stored responses to a configuration if a resource stores any. */
export function withAnswers(yaml: ConfigYaml): ConfigYaml {
  return Object.values(yaml.resources ?? {}).some(({ idempotency = 'none' }) => idempotency !== 'none')
    ? { ...yaml, models: { ...yaml.models, [ANSWERS]: MODEL } }
    : yaml
}
