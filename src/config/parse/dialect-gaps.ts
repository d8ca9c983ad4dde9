import { PLAIN } from '../../dialects/index.js'
import type { AppSpec, ResourceSpec } from '../spec.js'
import { show } from '../words.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import type { Rejection } from './rejection.js'

/** Whether a dialect can serve a resource: its clients identify each record by one value. */
export function fitsDialect({ model }: Pick<ResourceSpec, 'model'>, dialect: ResourceSpec['dialect']): boolean {
  return dialect === undefined || model.key.length > 0
}

const REASON = 'a dialect needs a primary key, which these records do not have'

/** Reports resources that the dialect of the API or of a mount cannot serve. */
export function checkDialectGaps(document: ConfigDocument, spec: AppSpec): readonly Rejection[] {
  return [...gapsOfApi(document, spec), ...gapsOfMounts(spec)]
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
