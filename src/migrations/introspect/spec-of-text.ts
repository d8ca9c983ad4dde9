import { isManagedByDefault } from '../../config/edit/add-resource.js'
import { checkConfig } from '../../config/parse/check/check.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import { MAX_CONFIG_BYTES } from '../../config/yaml/decode.js'
import { itemsOf } from '../../config/schema/yaml-shape.js'
import { readConfig } from '../../config/yaml/document.js'
import { findValue } from '../../config/yaml/located.js'
import { PLAIN } from '../../dialects/index.js'
import { MigrationError } from '../files/error.js'

/** The configuration in a text, or its errors, one sentence each. */
export function tryText(text: string, file: string): AppSpec | readonly string[] {
  const document = readConfig(new TextEncoder().encode(text), file)
  const spec = Array.isArray(document) ? document : checkConfig(document)
  return 'models' in spec ? spec : spec.map(({ range, message }) => `${file}:${range.start.line}: ${message}`)
}

/** Whether migrations create the tables of models that do not say so; false for a text that is not a configuration. */
export function isManagedText(text: string, file: string): boolean {
  const document = readConfig(new TextEncoder().encode(text), file)
  return !Array.isArray(document) && isManagedByDefault(document)
}

/** Whether the dialect of the API or of a mount shows the keys of models as `id`; false for a text that is not a configuration. */
export function hasDialect(text: string, file: string): boolean {
  const document = readConfig(new TextEncoder().encode(text), file)
  if (Array.isArray(document)) return false
  const places = [findValue(document.value, ['api']) ?? null, ...itemsOf(findValue(document.value, ['mounts']))]
  return places.some((place) => (findValue(place, ['dialect']) ?? PLAIN) !== PLAIN)
}

/** Whether a resource of a table shows its key as `id`, in the API or at a mount; undefined without such a resource. */
export function isInDialect({ resources, mounts }: AppSpec, table: string): boolean | undefined {
  const served = [resources, ...mounts.map((mount) => mount.resources)]
    .flat()
    .filter(({ model }) => model.table === table)
  return served.length === 0 ? undefined : served.some(({ dialect }) => dialect !== undefined)
}

/** The models of the file by their tables. */
export function modelsByTable(spec: AppSpec | undefined): ReadonlyMap<string, ModelSpec> {
  return new Map(spec?.models.map((model) => [model.table, model]))
}

/** The models of the file, without the tables of the service itself. */
export function declaredModels(spec: AppSpec | undefined): readonly ModelSpec[] {
  return spec?.models.filter((model) => !spec.internal.includes(model)) ?? []
}

/** @throws MigrationError with the errors of the text */
export function specOfText(text: string, file: string): AppSpec {
  const spec = tryText(text, file)
  if ('models' in spec) return spec
  throw new MigrationError(spec)
}

/**
 * The configuration in a text that introspection wrote.
 * @throws MigrationError if it is larger than a configuration may be
 */
export function specOfWritten(text: string, file: string): AppSpec {
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_CONFIG_BYTES) return specOfText(text, file)
  throw new MigrationError(
    [`${file} would have ${bytes} bytes, and a configuration has at most ${MAX_CONFIG_BYTES}`],
    ['Introspect fewer tables, for example each schema in a folder of its own: --schema, --tables'],
  )
}
