import type { ConfigYaml, ModelYaml } from '../schema/yaml-shape.js'

/** The model, and the table, of answers that are kept for requests with an `Idempotency-Key`. No model of a file has this name. */
export const ANSWERS = 'snippetctl_answers'

/** An answer is stored in the transaction of what it tells; until then its row has the key alone. */
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

/** A configuration with the model of kept answers, where a resource keeps any. */
export const withAnswers = (yaml: ConfigYaml): ConfigYaml =>
  Object.values(yaml.resources ?? {}).some(({ idempotency = 'none' }) => idempotency !== 'none')
    ? { ...yaml, models: { ...yaml.models, [ANSWERS]: MODEL } }
    : yaml
