import { offers } from '../config/parse/resource-drafts.js'
import { flag } from '../config/schema/parts.js'
import type { Feature } from './feature.js'

export interface ExportSpec {
  /** Whether lists can be downloaded whole. */
  readonly exported: boolean
}

/** The formats of exports, which are also the file extensions of their paths: `/books/export.csv`. */
export const EXPORT_FORMATS = ['csv', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** `export: true`: `GET /books/export.csv` downloads all records that match a list's parameters. */
export const exporting: Feature<ExportSpec> = {
  plainOnly: true,

  keys: {
    export: flag('Whether whole lists can be downloaded, at `export.csv` and `export.json` below the path.'),
  },

  synonyms: { export: ['download', 'exportable', 'csv'] },

  parse(resource, { report }) {
    const isExported = resource.given('export') === true
    if (isExported && resource.has('export') && offers(resource, 'list', report) === false) {
      const message = '`export` needs the operation `list`'
      report.add({ code: 'SC320', path: [...resource.path, 'export'], part: 'key', message })
    }
    return () => ({ exported: isExported })
  },

  options: ({ exported, operations }) =>
    exported && operations.includes('list') ? { export: [...EXPORT_FORMATS] } : {},
}
