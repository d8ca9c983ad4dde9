import type { FieldDeclarations } from '../config/parse/lone-fields.js'
import type { JsonText } from '../fields/spelling/json-text.js'
import type { Application } from './application.js'
import type { BodyMode } from './bodies/body.js'
import type { Id, Row } from './plan.js'
import type { ListParameters } from './query.js'

type Resources = Application extends { readonly resources: infer All } ? All : never
type Routes = Application extends { readonly routes: infer All } ? All : never

/** The kinds of types generated for a resource. */
type Kind = 'id' | 'record' | 'insert' | 'change' | 'create' | 'update' | 'patch' | 'serverSet' | 'computed' | 'filter'

// The first condition does not depend on the name, so that code for any application is typed as well.
type Of<Name, Which extends Kind, Otherwise> = [Resources] extends [never]
  ? Otherwise
  : Name extends keyof Resources
    ? Resources[Name] extends Readonly<Record<Which, infer Found>>
      ? Found
      : Otherwise
    : Otherwise

/** The names of resources, including those at mounts. */
export type ResourceName = [Resources] extends [never] ? string : keyof Resources & string

/** A record as handlers see it. */
export type RecordOf<Name> = Of<Name, 'record', Row>
export type IdOf<Name> = Of<Name, 'id', Id>
/** The values of a new record. */
export type InsertOf<Name> = Of<Name, 'insert', Row>
/** The values of an update. */
export type ChangeOf<Name> = Of<Name, 'change', Row>

type ServerSetOf<Name> = Of<Name, 'serverSet', never> & PropertyKey

/** The values about to be stored, as hooks see them. */
export type WriteOf<Name> = Partial<Omit<RecordOf<Name>, ServerSetOf<Name>>>
/** The values that hooks may return: a change without server-set fields. */
export type HookChangeOf<Name> = [ServerSetOf<Name>] extends [never]
  ? ChangeOf<Name>
  : Omit<ChangeOf<Name>, ServerSetOf<Name>> & { readonly [Field in ServerSetOf<Name> & string]?: never }

type ComputedOf<Name> = Of<Name, 'computed', Readonly<Record<string, unknown>>>
type KeyOf<All> = All extends unknown ? keyof All & string : never

/** The names of a resource's computed fields. */
export type ComputedName<Name> = KeyOf<ComputedOf<Name>>
/** The fields that a computed field is computed from. */
export type SourceOf<Name, Field> =
  ComputedOf<Name> extends { readonly [Key in Field & string]: { readonly from: infer From } } ? From : RecordOf<Name>
/** The type of a computed field. */
export type ValueOf<Name, Field> =
  ComputedOf<Name> extends { readonly [Key in Field & string]: { readonly value: infer Value } } ? Value : unknown

/** The parsed values of bodies, by mode. */
export interface BodiesOf<Name> extends Readonly<Record<BodyMode, unknown>> {
  readonly create: Of<Name, 'create', Row>
  readonly replace: Of<Name, 'update', Row>
  readonly update: Of<Name, 'patch', Row>
  readonly assign: Of<Name, 'patch', Row>
}

/** The parameters of a list, as values. */
export type ListParametersOf<Name> = Of<Name, 'filter', ListParameters>

/** The names of routes, including routes of plugins. */
export type RouteName = [Routes] extends [never] ? string : keyof Routes & string

/** The arguments of a path besides the route's name. */
export type RouteArguments<Name> = [Routes] extends [never]
  ? [params?: Readonly<Record<string, Id>>]
  : Name extends keyof Routes
    ? Readonly<Record<string, never>> extends Routes[Name]
      ? [params?: Routes[Name]]
      : [params: Routes[Name]]
    : never

/** The values of declared fields: null only where the declaration allows it. */
export type DeclaredValues<Fields extends FieldDeclarations> = {
  readonly [Name in keyof Fields]:
    | DeclaredValue<Fields[Name]>
    | (Fields[Name] extends { readonly nullable: infer Nullable } ? (true extends Nullable ? null : never) : never)
}

/** The types whose values are not strings. */
interface ValuesByType {
  readonly integer: number
  readonly bigint: bigint
  readonly float: number
  readonly boolean: boolean
  readonly array: readonly unknown[]
  readonly json: JsonText
}

type DeclaredValue<Field extends FieldDeclarations[string]> = Field extends {
  readonly choices: readonly (infer Choice)[]
}
  ? Choice
  : // Fields that are not written as literals may have any type.
    FieldDeclarations[string]['type'] extends Field['type']
    ? unknown
    : Field['type'] extends keyof ValuesByType
      ? ValuesByType[Field['type']]
      : string
