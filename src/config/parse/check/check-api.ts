import type { Json } from '../../../foundation/json.js'
import { isRange } from '../../address-ranges.js'
import { findValue, type Path } from '../../yaml/located.js'
import type { Report } from '../report.js'
import { show } from '../../words.js'
import { itemsOf } from '../../schema/yaml-shape.js'

const PLACES: readonly Path[] = [
  ['api', 'trusted_proxies'],
  ['auth', 'proxy', 'from'],
]

/** Reports proxies that are not addresses. */
export function checkProxies(root: Json, report: Report): void {
  for (const place of PLACES) checkRanges(root, place, report)
}

function checkRanges(root: Json, place: Path, report: Report): void {
  if (report.isInvalid(place)) return
  const given = itemsOf(findValue(root, place))
  for (const [index, entry] of given.entries()) {
    const path = [...place, index]
    if (report.isInvalid(path) || isRange(String(entry))) continue
    const help = ['an address is like `127.0.0.1` or `::1`, a range like `10.0.0.0/8`']
    report.add({
      code: 'SC206',
      path,
      message: `${show(String(entry))} is not an IP address or a range of IP addresses`,
      help,
    })
  }
}

const PATH = ['api', 'cors']

/** Reports origins that allow more than intended, or nothing. */
export function checkCors(root: Json, report: Report): void {
  const at = [...PATH, 'origins']
  const origins = itemsOf(findValue(root, at))
  const place = origins.indexOf('*')
  if (place < 0 || report.isInvalid(at)) return
  if (findValue(root, [...PATH, 'credentials']) === true) {
    const message = '`*` cannot be an origin with `credentials: true`: any site could send requests as its visitors'
    report.add({ code: 'SC304', path: [...at, place], message, help: ['list the origins'] })
  } else if (origins.length > 1) {
    const message = '`*` allows every origin, so the others have no effect'
    report.add({ code: 'SC319', path: [...at, place], message, help: ['remove `*`, or the others'] })
  }
}
