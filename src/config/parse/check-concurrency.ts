import type { Report } from './report.js'
import { offers, type ResourceDraft } from './resource-drafts.js'
import type { Operation } from '../spec.js'

const CHANGES: readonly Operation[] = ['update', 'partial_update', 'destroy']

/** Reports versions that are asked for where nothing changes, or where no client could learn them. */
export const checkConcurrency = (resource: ResourceDraft, report: Report): void => {
  if (!resource.has('concurrency') || resource.yaml.concurrency !== 'required') return
  const at = { path: [...resource.path, 'concurrency'], part: 'key' } as const
  if (CHANGES.every((operation) => offers(resource, operation, report) === false)) {
    const message = '`concurrency` has no effect: the resource neither changes nor deletes records'
    report.add({ ...at, code: 'SC319', message, help: ['remove it'] })
  } else if (offers(resource, 'retrieve', report) === false) {
    const message =
      '`concurrency: required` needs the operation `retrieve`: clients learn there which version a record has'
    report.add({ ...at, code: 'SC320', message })
  }
}
