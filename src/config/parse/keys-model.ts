import type { ConfigYaml, ModelYaml } from '../schema/yaml-shape.js'

/** The model, and the table, of API keys. No model of a file has this name. */
export const KEYS = 'snippetctl_keys'

function text(max: number, more: object = {}) {
  return { type: 'string', max, ...more } as ModelYaml['fields'][string]
}

/** A key itself is not stored: `digest` is its SHA-256. */
const MODEL: ModelYaml = {
  managed: true,
  fields: {
    id: { type: 'bigint', primary_key: true },
    key: text(16, { unique: true }),
    digest: text(43),
    subject: text(255),
    roles: { type: 'json' },
    claims: { type: 'json' },
    created_at: { type: 'timestamp' },
    expires_at: { type: 'timestamp', nullable: true },
    revoked_at: { type: 'timestamp', nullable: true },
  },
}

/** Adds the model of API keys to a configuration if callers sign in with them. */
export function withKeys(yaml: ConfigYaml): ConfigYaml {
  return yaml.auth?.keys === true ? { ...yaml, models: { ...yaml.models, [KEYS]: MODEL } } : yaml
}
