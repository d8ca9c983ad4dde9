import { isIP } from 'node:net'
import type { Json } from '../../json.js'
import { findValue } from '../yaml/located.js'
import type { Report } from './report.js'
import { show } from '../words.js'
import { itemsOf } from '../schema/yaml-shape.js'

const PATH = ['api', 'trusted_proxies']

/** Reports proxies that are no addresses. */
export const checkProxies = (root: Json, report: Report): void => {
  if (report.isSpoiled(PATH)) return
  const given = itemsOf(findValue(root, PATH))
  for (const [index, entry] of given.entries()) {
    const path = [...PATH, index]
    if (report.isSpoiled(path) || isRange(String(entry))) continue
    const help = ['an address is like `127.0.0.1` or `::1`, a range like `10.0.0.0/8`']
    report.add({
      code: 'SC206',
      path,
      message: `${show(String(entry))} is not an IP address or a range of IP addresses`,
      help,
    })
  }
}

function isRange(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const family = isIP(address)
  return family !== 0 && (bits === undefined || Number(bits) <= (family === 4 ? 32 : 128))
}
