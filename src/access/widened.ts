import type { AppSpec } from '../config/spec.js'
import type { Path } from '../config/yaml/located.js'
import type { Json } from '../foundation/json.js'

/** A checked configuration, and the parsed file that it was made of. */
export interface Configured {
  readonly spec: AppSpec
  readonly root: Json
}

/** Something that callers may do with the new configuration, and perhaps not with the old one. */
export interface Widened {
  /** The name to pass to `--allow-wider`: `task.list:member`, `auth.jwt`. */
  readonly what: string
  /** The new permission, in words of the file. */
  readonly now: string
  /** Where the new file has it. */
  readonly path: Path
  /** The permissions of the old file that it replaces, each with its place. */
  readonly before: readonly { readonly text: string; readonly path: Path }[]
}
