import type { AppSpec, ResourceSpec } from '../spec.js'
import { show } from '../words.js'
import type { Rejection } from './rejection.js'

/** Whether a dialect can serve a resource: its clients identify each record by one value. */
export function fitsDialect({ model }: Pick<ResourceSpec, 'model'>, dialect: ResourceSpec['dialect']): boolean {
  return dialect === undefined || model.key.length > 0
}

/** Reports resources that a mount leaves out because its dialect cannot serve them. */
export function checkMountGaps({ mounts, resources }: AppSpec): readonly Rejection[] {
  return mounts.flatMap((mount, index): readonly Rejection[] => {
    const served = new Set(mount.resources.map(({ mounted }) => mounted))
    const names = resources.filter(({ name }) => !served.has(name)).map(({ name }) => show(name))
    if (names.length === 0) return []
    const message = `the mount ${show(mount.path)} leaves out ${names.join(', ')}: a dialect needs a primary key, which these records do not have`
    const help = ['declare what identifies a record as `primary_key`, or leave `dialect` out of the mount']
    return [{ code: 'SC320', path: ['mounts', index, 'dialect'], part: 'value', message, help }]
  })
}
