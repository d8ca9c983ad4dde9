import { isDeepStrictEqual } from 'node:util'
import { type Ajv2020, loadAjv } from './config/schema/ajv.js'
import { PUBLIC_URL, PUBLIC_URL_HINT } from './config/schema/public-url.js'
import type { Rejection } from './config/parse/rejection.js'
import type { AppSpec } from './config/spec.js'
import type { Json, JsonSchema } from './foundation/json.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The values under `settings:`. Each is declared by the plugin that reads it. */
export interface Settings {
  /**
   * Returns the value from the environment, otherwise from resources.yaml, otherwise `fallback`. Invalid values are reported.
   * @throws Error if `fallback` itself is invalid
   */
  declare<Value extends Json>(name: string, schema: JsonSchema, fallback: Value): Value
  /** Reports values that do not match their declaration. */
  misfits(): readonly Rejection[]
  /** Reports these, and values that no plugin reads. Call it after all plugins have declared their settings. */
  rejections(): readonly Rejection[]
}

/** `SNIPPETCTL_SETTING_MAX_PAGE_SIZE` overrides the setting `max_page_size`. */
export function settingVariable(name: string): string {
  return `SNIPPETCTL_SETTING_${name.toUpperCase()}`
}

/**
 * @param checkDefaults whether to validate defaults against their schemas; an invalid default is an error of the plugin, which need not be checked at
 * every start
 */
export function readSettings(
  given: Readonly<Record<string, Json>>,
  env: Environment,
  checkDefaults: boolean,
): Settings {
  let made: Ajv2020 | undefined
  const validator = () => (made ??= new (loadAjv())({ strict: false, strictNumbers: true }))
  const declared = new Set<string>()
  const misfits: Rejection[] = []

  return {
    declare(name, schema, fallback) {
      declared.add(name)
      if (checkDefaults && !validator().validate(schema, fallback))
        throw new Error(unfitDefault(name, schema, fallback, validator().errors?.[0]?.message))
      const variable = settingVariable(name)
      const override = env[variable]
      const value = override === undefined ? own(given, name) : readVariable(override)
      // An omitted fallback needs no validation, so neither does the same value written out.
      if (value === undefined || isDeepStrictEqual(value, fallback)) return fallback
      if (validator().validate(schema, value)) return value as typeof fallback
      // The environment may have secrets, which the file must not have.
      const subject =
        override === undefined
          ? `the setting \`${name}\` is ${JSON.stringify(value)}`
          : `the environment variable ${variable} does not fit`
      misfits.push({
        code: 'SC352',
        ...(Object.hasOwn(given, name)
          ? { part: 'value' as const, path: ['settings', name] }
          : { part: 'key' as const, path: ['settings'] }),
        message: `${subject}: it ${validator().errors?.[0]?.message ?? 'does not fit'}`,
        help: [`its schema is ${JSON.stringify(schema)}, and its default ${JSON.stringify(fallback)}`],
      })
      return fallback
    },
    misfits: () => misfits,
    rejections() {
      const unread = Object.keys(given).filter((name) => !declared.has(name))
      const help =
        declared.size === 0
          ? 'no plugin reads a setting'
          : `the settings that plugins read are ${[...declared].join(', ')}`
      return [
        ...misfits,
        ...unread.map(
          (name): Rejection => ({
            code: 'SC351',
            part: 'key',
            path: ['settings', name],
            message: `no plugin reads the setting \`${name}\``,
            help: [help],
          }),
        ),
      ]
    },
  }
}

function unfitDefault(name: string, schema: JsonSchema, fallback: unknown, message = 'does not fit'): string {
  return `the default of the setting \`${name}\` is ${JSON.stringify(fallback)}: by its own schema ${JSON.stringify(schema)} it ${message}`
}

function own(values: Readonly<Record<string, Json>>, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/** Parses JSON; other text is taken literally. */
function readVariable(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

const VARIABLE = 'SNIPPETCTL_PUBLIC_URL'

/** Replaces the configured public URL by the one from the environment. */
export function withPublicUrl(
  spec: AppSpec,
  env: Environment,
): { readonly spec: AppSpec; readonly rejected: readonly Rejection[] } {
  const publicUrl = env[VARIABLE]
  if (publicUrl === undefined) return { spec, rejected: [] }
  if (new RegExp(PUBLIC_URL).test(publicUrl))
    return { spec: Object.freeze({ ...spec, api: Object.freeze({ ...spec.api, publicUrl }) }), rejected: [] }
  const message = `the environment variable ${VARIABLE} is malformed: ${JSON.stringify(publicUrl)}`
  const path = spec.api.publicUrl === undefined ? ['api'] : ['api', 'public_url']
  return { spec, rejected: [{ code: 'SC206', part: 'value', path, message, help: [PUBLIC_URL_HINT] }] }
}
