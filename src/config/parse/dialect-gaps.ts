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

/** Operations that need a header, with the status of requests without it. */
interface Required {
  readonly key: 'concurrency' | 'idempotency'
  readonly header: string
  readonly operations: readonly Operation[]
  readonly status: number
  readonly isSet: (resource: ResourceSpec) => boolean
}

const REQUIRED: readonly Required[] = [
  {
    key: 'concurrency',
    header: 'If-Match',
    operations: ['update', 'partial_update', 'destroy'],
    status: 428,
    isSet: ({ concurrency }) => concurrency === 'required',
  },
  {
    key: 'idempotency',
    header: 'Idempotency-Key',
    operations: ['create'],
    status: 400,
    isSet: ({ idempotency }) => idempotency?.required === true,
  },
]

/** Reports resources that require headers which the clients of their dialects do not send. */
function checkRequiredHeaders({ resources, mounts }: AppSpec): readonly Rejection[] {
  const places = [
    { resources, suffix: '' },
    ...mounts.map((mount) => ({ resources: mount.resources, suffix: ` of the mount ${show(mount.path)}` })),
  ]
  const dialectsOf = (name: string, required: Required) =>
    places.flatMap(({ resources: all, suffix }) => {
      const found = all.find((each) => (each.mounted ?? each.name) === name)
      return found?.dialect && isBlocked(found, all, required) ? [`${show(found.dialect.name)}${suffix}`] : []
    })
  return resources.flatMap((resource) =>
    REQUIRED.flatMap((required): readonly Rejection[] => {
      const dialects = dialectsOf(resource.name, required)
      return dialects.length === 0 ? [] : [rejectHeader(resource, required, dialects.join(' and '))]
    }),
  )
}

/** Whether the clients of a resource lack some of its operations, also by the other resources of the same model and dialect. */
function isBlocked(
  resource: ResourceSpec,
  all: readonly ResourceSpec[],
  { operations, isSet }: Pick<Required, 'operations' | 'isSet'>,
): boolean {
  const { model, dialect } = resource
  const open = all
    .filter((each) => each.model.name === model.name && each.dialect?.name === dialect?.name && !isSet(each))
    .flatMap((each) => each.operations)
  return isSet(resource) && operations.some((each) => resource.operations.includes(each) && !open.includes(each))
}

function rejectHeader(resource: ResourceSpec, required: Required, dialects: string): Rejection {
  const { key, header, status } = required
  const operations = required.operations.filter((operation) => resource.operations.includes(operation))
  return {
    code: 'SC417',
    path: ['resources', resource.name, key],
    part: 'key',
    message: `\`${key}: required\` needs \`${header}\`, which clients of the dialect ${dialects} do not send: ${show(resource.name)} responds to their ${operations.join(', ')} with ${status}`,
    help: [
      `set \`${key}: optional\`, or declare a second resource of the same model for these clients, with another path, the same \`dialect\` and \`${key}: optional\``,
    ],
  }
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
