import { PLAIN } from '../../dialects/index.js'
import { FEATURES } from '../../features/index.js'
import type { Json } from '../../json.js'
import { findValue } from '../yaml/located.js'
import { mountName } from './mount-name.js'
import type { Report } from './report.js'
import type { ResourceDraft } from './resource-drafts.js'
import { API_DEFAULTS } from '../schema/defaults.js'
import { show } from '../words.js'
import { itemsOf } from '../schema/yaml-shape.js'

/** Reports mounts at one place, or at places whose routes would have the same names. */
export const checkMounts = (root: Json, report: Report): void => {
  const prefix = findValue(root, ['api', 'prefix']) ?? API_DEFAULTS.prefix
  const owners = new Map<string, string>([[String(prefix), 'the prefix of the API']])
  const names = new Map<string, string>()
  for (const [index, mount] of itemsOf(findValue(root, ['mounts'])).entries()) {
    const at = ['mounts', index, 'path']
    const path = findValue(mount, ['path'])
    if (typeof path !== 'string' || report.isSpoiled(at)) continue
    const owner = owners.get(path) ?? names.get(mountName(path))
    owners.set(path, `the mount ${show(path)}`)
    names.set(mountName(path), `the mount ${show(path)}, whose routes have the same names`)
    if (owner === undefined) continue
    report.add({ code: 'SC309', path: at, message: `the path ${show(path)} clashes with ${owner}` })
  }
}

/** Reports what a resource says of its lists and its dialect says otherwise. */
export const checkDialect = ({ path, given, dialect }: ResourceDraft, report: Report): void => {
  if (dialect === PLAIN) return
  for (const key of FEATURES.flatMap(({ keys, plainOnly }) => (plainOnly ? Object.keys(keys) : []))) {
    if ((given(key) ?? false) === false) continue
    const message = `\`${key}\` has no effect: the dialect is ${show(dialect)}`
    report.add({ code: 'SC319', path: [...path, key], part: 'key', message, help: ['remove it'] })
  }
}
