import { appendMembers } from './append-members.js'
import { findValue } from '../yaml/located.js'
import { type ConfigDocument, readConfig } from '../yaml/document.js'

/** A resource that is not declared yet, with a model of the same name. */
export interface UndeclaredResource {
  readonly name: string
  readonly table: string
  /** Below the prefix. */
  readonly path: string
  /** The fields without the primary key, each as it is written in YAML. */
  readonly fields: readonly { readonly name: string; readonly spelled: string }[]
}

/**
 * The lines of a model and of its resource, as members of `models` and of `resources`. Migrations create the table.
 * @param isManaged whether they do so by default
 */
export function formatResource({ name, table, path, fields }: UndeclaredResource, isManaged = true) {
  const all = [{ name: 'id', spelled: '{ type: bigint, primary_key: true }' }, ...fields]
  const lines = all.map((field) => `    ${field.name}: ${field.spelled}`)
  return {
    models: [`${name}:`, ...(isManaged ? [] : ['  managed: true']), `  table: ${table}`, '  fields:', ...lines].join(
      '\n',
    ),
    resources: [`${name}:`, `  model: ${name}`, `  path: ${path}`].join('\n'),
  }
}

/** Whether migrations create the tables of models that do not say so. */
export function isManagedByDefault({ value }: ConfigDocument): boolean {
  return findValue(value, ['database', 'managed']) !== false
}

/**
 * Writes a model and its resource at the ends of `models` and of `resources`, and leaves every other character as it is.
 * @returns undefined if the file is not a configuration, has a resource of that name, or writes a mapping on one line
 */
export function declareResource(text: string, file: string, resource: UndeclaredResource): string | undefined {
  const document = readConfig(new TextEncoder().encode(text), file)
  if (Array.isArray(document)) return undefined
  const taken = (['models', 'resources'] as const).some(
    (key) => findValue(document.value, [key, resource.name]) !== undefined,
  )
  if (taken) return undefined
  const { models, resources } = formatResource(resource, isManagedByDefault(document))
  return appendMembers(text, file, [
    { key: 'models', members: [models] },
    { key: 'resources', members: [resources] },
  ])
}
