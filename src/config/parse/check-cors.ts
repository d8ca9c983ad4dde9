import type { Json } from '../../json.js'
import { findValue } from '../yaml/located.js'
import type { Report } from './report.js'
import { itemsOf } from '../schema/yaml-shape.js'

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
