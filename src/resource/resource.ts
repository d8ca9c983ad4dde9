import { ADDED_ID, addressMembers, type FieldSpec, type ModelSpec, type ResourceSpec } from '../config/spec.js'
import type { LinkReader } from '../features/feature.js'
import { unsettableMembers } from '../features/index.js'
import { membersOf } from '../features/selection.js'
import type { Json } from '../foundation/json.js'
import type { JsonBody } from '../foundation/json-body.js'
import { acceptsLink, detailName, type Links } from './bodies/links.js'
import { type BodyMode, compileBody, invalid } from './bodies/body.js'
import { bodyLimit } from './bodies/body-limit.js'
import { compileSplit, type DocumentParts } from './computed.js'
import { compileDialectList } from './lists/dialect-list.js'
import { compileExport, compileList, type ListRequest } from './lists/list.js'
import type { ResourceAccess } from './access.js'
import type { Id, ListPlan, Selection } from './plan.js'
import { encodeSegment, plainWord } from './keys/path-segment.js'
import { type ListParameters, quote, formatQuery } from './query.js'
import { keyOf, type RecordKey } from './keys/record-key.js'
import { compileRecordQuery } from './record-query.js'
import type { BodiesOf, ChangeOf, IdOf, ListParametersOf } from './typed.js'
import type { CompileSchema } from './validator.js'
import { readSettable, type ReadValues } from './bodies/values.js'

/** A compiled resource: closures over its spec. Frozen. `Name` selects its generated types. */
export interface Resource<Name extends string = string> {
  readonly spec: ResourceSpec
  /** The fields of responses, in order. */
  readonly shown: readonly FieldSpec[]
  /** The rights of this resource's callers; undefined if nothing limits them. */
  readonly access: ResourceAccess | undefined
  /** The members that these callers may send. */
  readonly sendable: Pick<View, 'create' | 'change'> | undefined
  /** The names of all members of responses, in order. */
  readonly members: readonly string[]
  /** In bytes: the longest valid body, and at least 1 MiB. */
  readonly bodyLimit: number
  /** The same for a body with the maximum number of records. */
  readonly bulkLimit: number
  /** The primary key, and each form of its values. */
  readonly key: RecordKey
  /** Parses the end of a record's path, such as `5`; returns undefined if it is not in canonical form. */
  parseId(text: string): IdOf<Name> | undefined
  /**
   * Parses a query string, or parameters as values.
   * @throws Problem `invalid_query` naming the parameter and the allowed values
   */
  parseList(asked: string | ListParametersOf<Name>): ListRequest
  /**
   * Parses the query string of an export.
   * @throws Problem `invalid_query` naming the parameter and the allowed values
   */
  parseExport(search: string): ListPlan
  /**
   * Parses which parts of a record a request selects. If records are always shown whole, the query is ignored.
   * @throws Problem `invalid_query` naming the parameter and the allowed values
   */
  parseSelection(search: string): Selection | undefined
  /** The stored and the computed part of a document; its entity tag has a hash of each. */
  split(document: string): DocumentParts
  /** Whether clients may select parts of a record. */
  readonly selectable: boolean
  /**
   * Server-set fields are ignored; `ignore` names further ones.
   * @throws Problem `validation` with every error
   */
  parseBody<Mode extends BodyMode>(body: JsonBody, mode: Mode, ignore?: readonly string[]): BodiesOf<Name>[Mode]
  /**
   * Parses the primary key in a body.
   * @throws Problem `validation`
   */
  parseKey(body: JsonBody): Id
  /**
   * Validates values set by code against the rules of their fields, including fields that clients cannot write.
   * @throws Problem `validation` with every error; Error for an unknown field and for one that the server sets
   */
  checkValues(values: object): ChangeOf<Name>
}

/** The parts of a resource that some callers may see and send. */
export interface View {
  readonly access: ResourceAccess
  readonly create: Sendable
  readonly change: Sendable
}

/** The members of bodies from some callers. */
export interface Sendable {
  /** The members that are read. */
  readonly fields: readonly FieldSpec[]
  /** The names of the fields that callers may set; other fields are never required. */
  readonly granted: ReadonlySet<string>
  /** Names that are ignored unless they are read, because the server sets their values. */
  readonly ignored: readonly string[]
}

/** `links` may still be empty: it is used only while serving. */
export function compileResource(spec: ResourceSpec, links: Links, compile: CompileSchema, view?: View): Resource {
  const { fields, relations } = spec.model
  const key = keyOf(spec)
  let readValues: ReadValues | undefined
  const readSelection = compileRecordQuery(spec)
  const readLink = acceptsLink(spec, links)
  const linked = Object.keys(spec.links).length > 0 ? { readLink } : {}
  const readList = spec.dialect
    ? compileDialectList(spec, spec.dialect, linked.readLink)
    : compileList(spec, linked.readLink)
  const joined = relations.flatMap(({ member }) => member?.name ?? [])
  const ignored = [...addressMembers(spec), ...joined, ...unsettableMembers(spec)]
  const parseId = (path: string): Id | undefined => {
    if (!path.includes('%')) return key.parse(path)
    // Words that other paths have at the place of a segment.
    const words = links.words(detailName(spec.name))
    const segments = path.split('/').map((segment, at) => plainWord(segment, words[at] ?? []))
    return key.parse(segments.join('/'))
  }
  const valueReader = () => readSettable(spec.model, compile)
  return Object.freeze({
    spec,
    shown: spec.shown,
    access: view?.access,
    sendable: view,
    members: membersOf(spec),
    bodyLimit: bodyLimit(fields, spec.maxBody),
    bulkLimit: bodyLimit(fields, spec.maxBody, spec.bulk.max),
    key,
    parseId,
    parseList: (asked: string | ListParameters) => readList(typeof asked === 'string' ? asked : formatQuery(asked)),
    parseExport: compileExport(spec, linked.readLink),
    parseSelection: readSelection ?? (() => undefined),
    split: compileSplit(spec.computed),
    selectable: readSelection !== undefined,
    parseBody: view
      ? compileBodies(view, ignored, readLink, compile)
      : compileBody({ model: spec.model, ignored }, readLink, compile),
    parseKey: compileKey(spec, readLink, compile),
    checkValues: (values: object) => (readValues ??= valueReader())(values),
  })
}

/** Compiles the parser of bodies from some callers: the members that they may send depend on whether the record exists. */
function compileBodies(
  view: View,
  ignored: readonly string[],
  readLink: LinkReader,
  compile: CompileSchema,
): ReturnType<typeof compileBody> {
  const readerFor = ({ fields, granted, ignored: set }: Sendable) =>
    compileBody({ model: { fields }, ignored: [...ignored, ...set], granted }, readLink, compile)
  const create = readerFor(view.create)
  const change = readerFor(view.change)
  return (body, mode, ignore) => (mode === 'create' ? create : change)(body, mode, ignore)
}

/** Compiles the parser of a record's primary key, which other parsers of bodies ignore if the server sets it. */
function compileKey(spec: ResourceSpec, readLink: LinkReader, compile: CompileSchema): (body: JsonBody) => Id {
  const key = keyOf(spec)
  const fields = key.fields.map((field) => ({ ...field, readOnly: false, private: false, default: undefined }))
  const readFields = (model: Pick<ModelSpec, 'fields'>) => {
    const read = compileBody({ model }, readLink, compile)
    return (body: JsonBody) => read(body, 'create', body.keys)
  }
  const read = readFields({ fields })
  const [lone, ...others] = fields
  const isJoined = others.length > 0
  const readId = lone && spec.addedId && readFields({ fields: [{ ...lone, name: ADDED_ID, label: 'Id' }] })
  return (body) => {
    const id = readId && body.value(ADDED_ID)
    if (id === undefined) return key.of(read(body))
    if (!isJoined) return readId?.(body)[ADDED_ID] as Id
    if (typeof id !== 'string') throw invalid([{ field: ADDED_ID, message: 'Id must be a string' }])
    return key.parse(encodeSegment(id) ?? '') ?? rejectId(ADDED_ID, id)
  }
}

function rejectId(field: string, id: Json): never {
  throw invalid([{ field, message: `${quote(String(id))} is not the id of a record` }])
}
