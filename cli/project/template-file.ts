/** What a new project is made of. */
export interface Wish {
  /** Of the project; a name that npm takes. */
  readonly name: string
  /** Of this program, which the project depends on. */
  readonly version: string
  /** Without the example: no model, no resource, no plugin. */
  readonly empty: boolean
  readonly language: 'ts' | 'js'
}

/** A file of a new project. */
export interface TemplateFile {
  readonly path: string
  readonly text: string
  /** What it is, in a few words. */
  readonly what: string
}
