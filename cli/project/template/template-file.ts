/** The settings of a new project. */
export interface ProjectSettings {
  /** The name of the project, valid for npm. */
  readonly name: string
  /** The version of snippetctl that the project depends on. */
  readonly version: string
  /** Without the example: no model, no resource, no plugin. */
  readonly empty: boolean
  readonly language: 'ts' | 'js'
}

/** A file of a new project. */
export interface TemplateFile {
  readonly path: string
  readonly text: string
  /** A short description. */
  readonly what: string
}
