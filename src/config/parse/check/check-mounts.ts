import { PLAIN } from '../../../dialects/index.js'
import { FEATURES } from '../../../features/index.js'
import type { Json } from '../../../foundation/json.js'
import { findValue } from '../../yaml/located.js'
import { ADDED_ID } from '../../core-spec.js'
import { hasMember } from '../drafts.js'
import type { Report } from '../report.js'
import type { ResourceDraft } from '../resource-drafts.js'
import { API_DEFAULTS } from '../../schema/defaults.js'
import { nameOf, show } from '../../words.js'
import { itemsOf } from '../../schema/yaml-shape.js'

/** Reports mounts that share a path, or whose routes would have the same names. */
export function checkMounts(root: Json, report: Report): void {
  const prefix = findValue(root, ['api', 'prefix']) ?? API_DEFAULTS.prefix
  const owners = new Map<string, string>([[nameOf(prefix), 'the prefix of the API']])
  const names = new Map<string, string>()
  for (const [index, mount] of itemsOf(findValue(root, ['mounts'])).entries()) {
    const at = ['mounts', index, 'path']
    const path = findValue(mount, ['path'])
    if (typeof path !== 'string' || report.isInvalid(at)) continue
    const owner = owners.get(path) ?? names.get(mountName(path))
    owners.set(path, `the mount ${show(path)}`)
    names.set(mountName(path), `the mount ${show(path)}, whose routes have the same names`)
    if (owner === undefined) continue
    report.add({ code: 'SC309', path: at, message: `the path ${show(path)} clashes with ${owner}` })
  }
}

/** Reports settings of a resource's lists that its dialect overrides. */
export function checkDialect(root: Json, resource: ResourceDraft, report: Report): void {
  const { path, given, dialect } = resource
  checkIdentity(root, resource, report)
  if (dialect === PLAIN) return
  for (const key of FEATURES.flatMap(({ keys, plainOnly }) => (plainOnly ? Object.keys(keys) : []))) {
    if ((given(key) ?? false) === false) continue
    const message = `\`${key}\` has no effect: the dialect is ${show(dialect)}`
    report.add({ code: 'SC319', path: [...path, key], part: 'key', message, help: ['remove it'] })
  }
}

/**
 * Reports dialects, whose clients identify a record by its `id`, if records have no key, or another member `id`. The dialects of the API and of mounts
 * do not apply to records without a key.
 */
function checkIdentity(root: Json, { name, path, model, has, given, yaml }: ResourceDraft, report: Report): void {
  if (model === undefined || (model.keyNames.size === 1 && model.keyNames.has(ADDED_ID))) return
  const isKeyless = model.keyNames.size === 0
  const isTaken = hasMember(model, ADDED_ID) || findValue(given('computed') ?? null, [ADDED_ID]) !== undefined
  if (!isKeyless && !isTaken) return
  const help = `set \`dialect: plain\` for ${show(name)}`
  const own = has('dialect') ? [{ dialect: yaml.dialect, at: [...path, 'dialect'], help }] : []
  const ofApi = { dialect: findValue(root, ['api', 'dialect']), at: ['api', 'dialect'], help }
  const ofMounts = itemsOf(findValue(root, ['mounts'])).map((mount, index) => ({
    dialect: findValue(mount, ['dialect']),
    at: ['mounts', index, 'dialect'],
    help: 'leave `dialect` out of the mount, which then has the dialect of each resource',
  }))
  const inherited = own.length > 0 ? ofMounts : [ofApi, ...ofMounts]
  const places = [...own, ...(isKeyless ? [] : inherited)]
  for (const { dialect, at, help } of places) {
    if (typeof dialect !== 'string' || dialect === PLAIN || report.isInvalid(at)) continue
    const message = isKeyless
      ? `the dialect ${show(dialect)} needs a primary key, which ${show(name)} does not have`
      : `the dialect ${show(dialect)} shows the key of ${show(name)} (${[...model.keyNames].join(', ')}) as \`id\`, which is another member of its records`
    const helps = isKeyless ? [help] : [help, 'or give the other member another name (`column` keeps its column)']
    report.add({ code: isKeyless ? 'SC320' : 'SC304', path: at, message, help: helps })
  }
}

/** The prefix of route names at a mount: `admin-api` for `/admin-api`, `v2-admin` for `/v2/admin`. */
export function mountName(path: string): string {
  return path.slice(1).replaceAll('/', '-')
}
