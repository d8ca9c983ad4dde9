import { type FieldSpec, isShown, type ResourceSpec } from '../config/spec.js'
import { membersOf } from '../features/selection.js'
import type { JsonBody } from '../json-body.js'
import { acceptsLink, type Links } from './links.js'
import { type BodyMode, compileBody } from './body.js'
import { bodyLimit } from './body-limit.js'
import { compileStored } from './computed.js'
import { compileDialectList } from './dialect-list.js'
import { compileList, type ListRequest } from './list.js'
import type { Id, Selection } from './plan.js'
import { type ListParameters, spellQuery } from './query.js'
import { compileRecordQuery } from './record-query.js'
import type { BodiesOf, ChangeOf, IdOf, ListParametersOf } from './typed.js'
import type { CompileSchema } from './validator.js'
import { readSettable, type ReadValues } from './values.js'

/** A resource, compiled: closures over its spec, ready to serve. Frozen. `Name` is what its types are found by, where they are written. */
export interface Resource<Name extends string = string> {
  readonly spec: ResourceSpec
  /** What answers show, in order. */
  readonly shown: readonly FieldSpec[]
  /** The names of all that answers show, in order. */
  readonly members: readonly string[]
  /** Bytes: what the longest valid body needs, and at least 1 MiB. */
  readonly bodyLimit: number
  /** The same of a body that is about as many records as one may be. */
  readonly bulkLimit: number
  /** undefined when the text is not the canonical text of an id. */
  parseId(text: string): IdOf<Name> | undefined
  /**
   * Reads a query string, or the parameters as values.
   * @throws Problem `invalid_query` naming the parameter and what is allowed
   */
  parseList(asked: string | ListParametersOf<Name>): ListRequest
  /**
   * What a request for one record asks to see of it; where records are always shown whole, the query is not looked at.
   * @throws Problem `invalid_query` naming the parameter and what is allowed
   */
  parseSelection(search: string): Selection | undefined
  /** The part of a document that is stored, without what is computed: its entity tag is made of that. */
  storedPart(document: string): string
  /** Whether clients may ask for less than the whole of a record. */
  readonly selectable: boolean
  /**
   * `ignore` names further members that are left aside; server-set fields always are.
   * @throws Problem `validation` with every fault
   */
  parseBody<Mode extends BodyMode>(body: JsonBody, mode: Mode, ignore?: readonly string[]): BodiesOf<Name>[Mode]
  /**
   * The primary key that a body names.
   * @throws Problem `validation`
   */
  parseKey(body: JsonBody): Id
  /**
   * Values of a record as code has them, held to the rules of their fields, those too that no client may send.
   * @throws Problem `validation` with every fault; Error for what code must not do: name no field, or one that the server sets
   */
  checkValues(values: object): ChangeOf<Name>
}

/** `links` need not know any route yet: it is asked only while serving. */
export function compileResource(spec: ResourceSpec, links: Links, compile: CompileSchema): Resource {
  const { primaryKey, fields } = spec.model
  let readValues: ReadValues | undefined
  const shown = fields.filter(isShown)
  const readSelection = compileRecordQuery(spec)
  const readLink = acceptsLink(spec, links)
  const linked = Object.keys(spec.links).length > 0 ? { readLink } : {}
  const readList = spec.dialect
    ? compileDialectList(spec, spec.dialect, linked.readLink)
    : compileList(spec, linked.readLink)
  const valueReader = () => readSettable(spec.model, compile)
  return Object.freeze({
    spec,
    shown,
    members: membersOf(spec),
    bodyLimit: bodyLimit(fields, spec.maxBody),
    bulkLimit: bodyLimit(fields, spec.maxBody, spec.bulk.max),
    parseId: (text: string) => primaryKey.type.parse(text, primaryKey.options) as Id | undefined,
    parseList: (asked: string | ListParameters) => readList(typeof asked === 'string' ? asked : spellQuery(asked)),
    parseSelection: readSelection ?? (() => undefined),
    storedPart: compileStored(spec.computed),
    selectable: readSelection !== undefined,
    parseBody: compileBody(spec, readLink, compile),
    parseKey: compileKey(primaryKey, compile),
    checkValues: (values: object) => (readValues ??= valueReader())(values),
  })
}

/** @returns the reader of a record's primary key, which other readers of bodies pass over: the server sets it. */
function compileKey(primaryKey: FieldSpec, compile: CompileSchema): (body: JsonBody) => Id {
  const key = { ...primaryKey, readOnly: false, private: false, default: undefined }
  const read = compileBody({ model: { fields: [key] }, url: false }, () => undefined, compile)
  return (body) => read(body, 'create', body.keys)[key.name] as Id
}
