import type { ExportFormat } from '../../features/export.js'
import { csvForm } from '../../resource/lists/export-csv.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { EXPORT, type ExportForm, type WithExports } from './exports.js'
import type { Operation } from './operation.js'

interface ExportInput {
  readonly plan: ListPlan
}

/** How a format is sent. */
interface Format {
  readonly mediaType: string
  readonly contentType: string
  form(resource: Resource, plan: ListPlan): ExportForm
}

const FORMATS: Readonly<Record<ExportFormat, Format>> = {
  csv: {
    mediaType: 'text/csv',
    contentType: 'text/csv; charset=utf-8; header=present',
    form(resource, plan) {
      const { header, row } = csvForm(resource, plan)
      return { before: header, between: '', after: '', format: row }
    },
  },
  json: {
    mediaType: 'application/json',
    contentType: 'application/json',
    form: () => ({ before: '[', between: ',', after: ']', format: (document) => document }),
  },
}

/** Downloads all records that a list finds, in its order. */
export function exportOperation(
  resource: Resource,
  format: ExportFormat,
): Operation<ExportInput, AsyncIterable<string>> {
  const { mediaType, contentType, form } = FORMATS[format]
  const headers = {
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${fileName(resource)}.${format}"`,
  }
  return {
    name: 'export',
    method: 'GET',
    on: 'collection',
    mediaType,
    read: ({ search }) => ({ plan: resource.parseExport(search) }),
    run: async ({ plan }, context) =>
      context.method === 'HEAD'
        ? nothing()
        : (context as typeof context & WithExports)[EXPORT](resource, plan, form(resource, plan)),
    reply: (stream) => ({ status: 200, headers, stream }),
  }
}

async function* nothing(): AsyncGenerator<string, void> {}

/** The last part of the path, such as `books`. */
function fileName({ spec: { path, name } }: Resource): string {
  const last = path.split('/').at(-2) ?? ''
  return /^[\w.-]+$/.test(last) ? last : name
}
