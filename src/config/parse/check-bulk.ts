import type { Report } from './report.js'
import { offers, type ResourceDraft } from './resource-drafts.js'
import { show } from '../words.js'

/** Reports what cannot be done to several records at once, because it cannot be done to one, or not without its version. */
export const checkBulk = (resource: ResourceDraft, report: Report): void => {
  const { path, yaml, has } = resource
  const at = [...path, 'bulk']
  if (has('bulk_max') && (yaml.bulk ?? []).length === 0) {
    const message = '`bulk_max` has no effect: nothing can be done to several records at once'
    report.add({
      code: 'SC319',
      path: [...path, 'bulk_max'],
      part: 'key',
      message,
      help: ['add `bulk: [create]`, or remove it'],
    })
  }
  if (!has('bulk')) return
  const versioned = has('concurrency') && yaml.concurrency === 'required'
  for (const [place, operation] of (yaml.bulk ?? []).entries()) {
    if (offers(resource, operation, report) === false) {
      const message = `${show(operation)} is none of the operations of the resource ${show(resource.name)}`
      report.add({ code: 'SC320', path: [...at, place], message })
    } else if (versioned && operation !== 'create') {
      const message = `${show(operation)} in bulk cannot say which versions it is meant for, as \`concurrency: required\` asks`
      report.add({ code: 'SC304', path: [...at, place], message, help: ['remove one of the two'] })
    }
  }
}
