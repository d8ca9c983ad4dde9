import type { Report } from './report.js'
import type { ResourceDraft } from './resource-drafts.js'

/** Reports a time for which answers are kept where none are. */
export const checkIdempotency = ({ path, yaml, has }: ResourceDraft, report: Report): void => {
  if (!has('idempotency_hours') || (yaml.idempotency ?? 'none') !== 'none') return
  report.add({
    code: 'SC319',
    path: [...path, 'idempotency_hours'],
    part: 'key',
    message: '`idempotency_hours` has no effect: no answers are kept',
    help: ['add `idempotency: optional`, or remove it'],
  })
}
