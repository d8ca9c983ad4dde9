import { PLAIN } from '../../dialects/index.js'
import type { AppSpec, Operation, ResourceSpec } from '../spec.js'
import { show } from '../words.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import type { Rejection } from './rejection.js'

/** Whether a dialect can serve a resource: its clients identify each record by one value. */
export function fitsDialect({ model }: Pick<ResourceSpec, 'model'>, dialect: ResourceSpec['dialect']): boolean {
  return dialect === undefined || model.key.length > 0
}

const REASON = 'a dialect needs a primary key, which these records do not have'

/** Reports resources that the dialect of the API or of a mount cannot serve, or only in part. */
export function checkDialectGaps(document: ConfigDocument, spec: AppSpec): readonly Rejection[] {
  return [...gapsOfApi(document, spec), ...gapsOfMounts(spec), ...checkRequiredHeaders(spec)]
}

/** Reports resources that require headers which the clients of their dialects do not send. */
function checkRequiredHeaders({ resources, mounts }: AppSpec): readonly Rejection[] {
  return resources.flatMap((resource) => {
    const mounted = mounts.flatMap((mount) => {
      const found = mount.resources.find((each) => each.mounted === resource.name)
      return found?.dialect ? [`${show(found.dialect.name)} of the mount ${show(mount.path)}`] : []
    })
    const dialects = [...(resource.dialect ? [show(resource.dialect.name)] : []), ...mounted]
    return dialects.length === 0 ? [] : requiredHeaders(resource, dialects.join(' and '))
  })
}

const CHANGES: readonly Operation[] = ['update', 'partial_update', 'destroy']
const CREATES: readonly Operation[] = ['create']

function requiredHeaders(resource: ResourceSpec, dialects: string): readonly Rejection[] {
  const { name, concurrency, idempotency } = resource
  const required = [
    { key: 'concurrency', isSet: concurrency === 'required', header: 'If-Match', of: CHANGES, status: 428 },
    { key: 'idempotency', isSet: idempotency?.required, header: 'Idempotency-Key', of: CREATES, status: 400 },
  ]
  return required.flatMap(({ key, isSet, header, of, status }): readonly Rejection[] => {
    const operations = of.filter((operation) => resource.operations.includes(operation))
    if (!isSet || operations.length === 0) return []
    const message = `\`${key}: required\` keeps clients of the dialect ${dialects} from ${show(name)}: they do not send \`${header}\`, so the response to ${operations.join(', ')} is ${status}`
    const help = [`set \`${key}: optional\`, or serve such clients by a resource of their own`]
    return [{ code: 'SC417', path: ['resources', name, key], part: 'key', message, help }]
  })
}

function gapsOfApi(document: ConfigDocument, { api, resources }: AppSpec): readonly Rejection[] {
  if (api.dialect === PLAIN) return []
  return resources
    .filter(({ name, model }) => model.key.length === 0 && !hasDialect(document, name))
    .map(({ name }) => ({
      code: 'SC413',
      path: ['resources', name],
      part: 'key',
      message: `${show(name)} keeps the dialect ${show(PLAIN)}: ${REASON}`,
      help: [`set \`dialect: ${PLAIN}\`, or declare what identifies a record as \`primary_key\``],
    }))
}

function hasDialect({ value }: ConfigDocument, name: string): boolean {
  return findValue(value, ['resources', name, 'dialect']) !== undefined
}

function gapsOfMounts({ mounts, resources }: AppSpec): readonly Rejection[] {
  return mounts.flatMap((mount, index): readonly Rejection[] => {
    const served = new Set(mount.resources.map(({ mounted }) => mounted))
    const names = resources.filter(({ name }) => !served.has(name)).map(({ name }) => show(name))
    if (names.length === 0) return []
    const message = `the mount ${show(mount.path)} leaves out ${names.join(', ')}: ${REASON}`
    const help = ['declare what identifies a record as `primary_key`, or leave `dialect` out of the mount']
    return [{ code: 'SC413', path: ['mounts', index, 'dialect'], part: 'value', message, help }]
  })
}
