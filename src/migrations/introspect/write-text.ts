import { appendMembers } from '../../config/edit/append-members.js'
import { MigrationError } from '../files/error.js'
import type { Choice } from './choose/choose.js'
import { comment, renderModel, renderResource } from './render-models.js'

interface WriteOptions {
  /** The text to extend; undefined for a new file. */
  readonly text?: string | undefined
  readonly file: string
  readonly resources?: 'all' | 'read_only' | 'none' | undefined
  readonly tables?: readonly string[] | undefined
}

/**
 * Writes models and their resources at the end of a configuration.
 * @param setting a line for a new file
 * @throws MigrationError if the file writes its models or resources on one line
 */
export function writeText({ models, left }: Choice, options: WriteOptions, setting?: string): string {
  const { text, file, resources = 'all', tables } = options
  const settings = setting === undefined ? [] : [setting]
  const start = text ?? ['version: 1', ...settings, ...(tables ? [] : left.map(comment)), ''].join('\n')
  const shown = resources === 'none' ? [] : models.filter(({ operations }) => operations.length > 0)
  const parts = [
    { key: 'models', members: models.map(renderModel) },
    { key: 'resources', members: shown.map((model) => renderResource(model, resources === 'read_only')) },
  ]
  const added = parts.filter(({ members }) => members.length > 0)
  const written = appendMembers(start, file, added)
  if (written !== undefined) return written.replace(/\n\n+$/, '\n')
  const { key = 'models' } = added.find((part) => appendMembers(start, file, [part]) === undefined) ?? {}
  throw new MigrationError(
    [`${file}: \`${key}\` is written on one line, and nothing can be added to it`],
    [`Write \`${key}\` as a block, one line for each, or remove it`],
  )
}
