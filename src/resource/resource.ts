import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import type { JsonBody } from '../json-body.js'
import { acceptsLink, type Links } from './links.js'
import { bodyLimit, type BodyMode, compileBody } from './body.js'
import { compileDialectList } from './dialect-list.js'
import { compileList, type ListRequest } from './list.js'
import type { Id, Row } from './plan.js'
import type { CompileSchema } from './validator.js'
import { compileValues, type ReadValues, settable } from './values.js'

/** A resource, compiled: closures over its spec, ready to serve. Frozen. */
export interface Resource {
  readonly spec: ResourceSpec
  /** What answers show, in order. */
  readonly shown: readonly FieldSpec[]
  /** Bytes: what the longest valid body needs, and at least 1 MiB. */
  readonly bodyLimit: number
  /** undefined when the text is not the canonical text of an id. */
  parseId(text: string): Id | undefined
  /** @throws Problem `invalid_query` naming the parameter and what is allowed */
  parseList(search: string): ListRequest
  /**
   * `ignore` names further members that are left aside; server-set fields always are.
   * @throws Problem `validation` with every fault
   */
  parseBody(body: JsonBody, mode: BodyMode, ignore?: readonly string[]): Row
  /**
   * Values of a record as code has them, held to the rules of their fields, those too that no client may send.
   * @throws Problem `validation` with every fault; Error for what code must not do: name no field, or one that the server sets
   */
  checkValues(values: object): Row
}

/** `links` need not know any route yet: it is asked only while serving. */
export function compileResource(spec: ResourceSpec, links: Links, compile: CompileSchema): Resource {
  const { primaryKey, fields } = spec.model
  let readValues: ReadValues | undefined
  const valueReader = () => compileValues(settable(fields), `the model \`${spec.model.name}\``, compile)
  return Object.freeze({
    spec,
    shown: fields.filter((field) => !field.private && !field.writeOnly),
    bodyLimit: bodyLimit(fields),
    parseId: (text: string) => primaryKey.type.parse(text, primaryKey.options) as Id | undefined,
    parseList: spec.dialect ? compileDialectList(spec, spec.dialect) : compileList(spec),
    parseBody: compileBody(spec, acceptsLink(spec, links), compile),
    checkValues: (values: object) => (readValues ??= valueReader())(values),
  })
}
