import type { Model, ModelClass } from 'objection'
import type { Application } from '../../resource/application.js'

type Columns = Application extends { readonly models: infer All } ? All : never

/** Objection's classes for the models of `resources.yaml`, by name; `any` if no types are generated. */
export type Models = [Columns] extends [never]
  ? // eslint-disable-next-line @typescript-eslint/no-explicit-any -- nothing is known of the models, and every use would need a cast
    Readonly<Record<string, any>>
  : { readonly [Name in keyof Columns]: ModelClass<Model & Columns[Name]> }
