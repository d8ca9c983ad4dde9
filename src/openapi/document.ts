import type { AppSpec, ModelSpec } from '../config/spec.js'
import type { JsonSchema } from '../foundation/json.js'
import { PROBLEMS } from '../foundation/problem.js'
import type { OperationDescription } from '../http/operation-description.js'
import type { Route } from '../http/route.js'
import type { RouteTable } from '../http/route-table.js'
import type { Resource } from '../resource/resource.js'
import { createCompiler } from '../resource/validator.js'
import { describeAction } from './actions.js'
import { describeBulk } from './bulk.js'
import { compileFieldSchemas, type FieldSchemas } from './field-schema.js'
import { isWriting } from './features.js'
import { toCamel, uniqueNames } from '../resource/names.js'
import { describeGenerated, operationName } from './operations.js'
import type { JsonPart } from './json-part.js'
import {
  bodySchema,
  nameSchemas,
  partialSchema,
  type SchemaNames,
  selectedSchema,
  shownSchema,
} from './resource-schemas.js'
import { resolveReferences } from './references.js'
import {
  anyOther,
  anyProblem,
  HEADERS,
  PROBLEM_SCHEMA,
  rejection,
  rejectionName,
  renderedProblem,
} from './responses.js'
import { describeWritten, mapSchemas } from './hand-written.js'
import { requirements, securitySchemes } from './security.js'

/** The compiled application to describe. */
export interface Described {
  readonly spec: AppSpec
  readonly routes: RouteTable
}

/** Builds the OpenAPI 3.1 document of an application with all routes. It is deterministic. */
export function describeApp({ spec, routes }: Described): JsonPart {
  const schemas = compileFieldSchemas(createCompiler())
  const names = nameAll(routes)
  const shared = componentSchemas(names, schemas)
  const namesOf = (resource: Resource) => names.get(resource) ?? unnamed(resource)
  const identify = uniqueNames()
  const paths: Record<string, Record<string, JsonPart>> = {}
  /** Paths by their form without the names of parameters, which OpenAPI does not tell apart. */
  const pathOfForm = new Map<string, string>()
  const tags = new Map<string, string>()

  const withOperation = (route: Route): Route => {
    const { action, operation } = route
    if (operation) return { ...route, operation: mapSchemas(operation, (schema) => resolveReferences(schema, shared)) }
    if (!action) return route
    return { ...route, operation: describeAction(route, action, schemas, namesOf(action.resource).shown) }
  }

  const describe = (route: Route): JsonPart => {
    const rendered = routes.problemSchemaAt(route.path)
    const { generated } = route
    if (!generated) return withProblems(describeWritten(route, rendered), route, rendered)
    const { resource, operation, partial, exports } = generated
    const { model } = resource.spec
    const canConflict = operation === 'destroy' ? isHeld(model, spec.models) || isGuarded(model) : canClash(generated)
    const describeIt = generated.bulk ? describeBulk : describeGenerated
    return withProblems(
      describeIt(
        { resource, operation, schemas, canConflict, hooked: route.hooks !== undefined, partial, exports },
        namesOf(resource),
      ),
      route,
      rendered,
    )
  }

  for (const route of inOrder(routes).map(withOperation)) {
    const tag = tagOf(route, spec.api.prefix)
    if (!tags.has(tag)) tags.set(tag, aboutTag(route))
    const operation = { operationId: identify(identifierOf(route, routes, namesOf)), tags: [tag], ...describe(route) }
    const own = pathOf(route)
    const form = own.replaceAll(PARAMETERS, '{}')
    const path = pathOfForm.get(form) ?? own
    pathOfForm.set(form, path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: withParametersOf(path, own, operation) }
  }
  const schemes = securitySchemes(spec.auth)
  const components = { schemas: shared, responses: rejections(), headers: HEADERS }
  return {
    openapi: '3.1.0',
    info: infoOf(spec),
    servers: [{ url: '/' }],
    security: requirements(schemes),
    tags: [...tags].map(([name, description]) => ({ name, description })),
    paths,
    components: { ...onlyUsed(paths, components), ...(schemes && { securitySchemes: schemes }) },
  }
}

/** Adds the problems that a route's middleware declares. `rendered` is the schema of problems, if they are not problem documents. */
function withProblems(part: JsonPart, { problems = [] }: Route, rendered: JsonSchema | undefined): JsonPart {
  const declared = problems.map((type) => {
    const { status } = PROBLEMS[type]
    return [status, { ...rejection(status), ...(rendered && { content: renderedProblem(rendered) }) }] as const
  })
  return { ...part, responses: { ...Object.fromEntries(declared), ...(part['responses'] as JsonPart) } }
}

/**
 * Returns a function that finds a broken reference in the schemas of a hand-written route and returns its error message; undefined if all are
 * valid. The document is built on demand, but its mistakes are reported at startup.
 */
export function findBrokenReference(routes: RouteTable): (operation: OperationDescription) => string | undefined {
  let components: JsonPart | undefined
  return (operation) => {
    if (!JSON.stringify(operation).includes('"$ref"')) return undefined
    // Examples are left out: checking them would take most of the time that a service needs to start.
    components ??= componentSchemas(nameAll(routes), compileFieldSchemas())
    const shared = components
    try {
      mapSchemas(operation, (schema) => resolveReferences(schema, shared))
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

function nameAll(routes: RouteTable): ReadonlyMap<Resource, SchemaNames> {
  const unique = uniqueNames(['Problem'])
  const resources = new Set([...routes].flatMap((route) => resourceOf(route) ?? []))
  return new Map([...resources].map((each) => [each, nameSchemas(each.spec.name, unique)]))
}

function unnamed({ spec }: Resource): never {
  throw new Error(`the resource ${spec.name} has no route`)
}

function infoOf({ api }: AppSpec): JsonPart {
  return {
    title: api.title,
    version: '1.0.0',
    description: `${api.title}: operations and responses.`,
    contact: { name: api.title },
    license: { name: 'Not stated', identifier: 'NOASSERTION' },
  }
}

/** Fixed paths come before those with parameters, in the order of matching. */
function inOrder(routes: Iterable<Route>): readonly Route[] {
  return [...routes].toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
}

const PARAMETERS = /\{[^{}]*\}/g

/** Renames the path parameters of an operation to those at the same places of another path. */
function withParametersOf(path: string, own: string, operation: JsonPart): JsonPart {
  if (path === own) return operation
  const [names = [], renamed = []] = [own, path].map((each): readonly string[] => each.match(PARAMETERS) ?? [])
  const nameOf = (name: unknown) => renamed[names.indexOf(`{${String(name)}}`)]?.slice(1, -1) ?? name
  const parameters = operation['parameters'] as readonly JsonPart[]
  return {
    ...operation,
    parameters: parameters.map((each) => (each['in'] === 'path' ? { ...each, name: nameOf(each['name']) } : each)),
  }
}

/** The path in the form that clients use; both forms work. */
function pathOf({ path, generated }: Route): string {
  return generated?.resource.spec.dialect?.bare ? path.slice(0, -1) : path
}

function tagOf({ generated, operation, path }: Route, prefix: string): string {
  if (generated) return generated.resource.spec.name
  const [segment = ''] = path.slice(prefix.length + 1).split('/')
  return operation?.tag ?? (/^[^{]/.test(segment) ? segment : 'other')
}

function resourceOf({ generated, action }: Route): Resource | undefined {
  return generated?.resource ?? action?.resource
}

function aboutTag(route: Route): string {
  const resource = resourceOf(route)
  if (!resource) return `Written by hand: ${route.source.replace('plugin ', '')}.`
  const { name, model } = resource.spec
  return `The records of \`${model.name}\`, as the resource \`${name}\` shows them.`
}

function identifierOf(route: Route, routes: RouteTable, namesOf: (resource: Resource) => SchemaNames): string {
  const { generated, name, method } = route
  if (generated) return operationName(generated, namesOf(generated.resource).shown)
  const alone = [...routes].filter((other) => other.name === name).length === 1
  return toCamel(alone ? name : `${method.toLowerCase()}-${name}`)
}

function canClash({ resource, operation }: NonNullable<Route['generated']>): boolean {
  const { model } = resource.spec
  if (!isWriting(operation)) return false
  const isLimited = model.fields.some((field) => !field.readOnly && (field.unique || field.primaryKey))
  const refers = model.relations.some(({ parts }) => parts.some(({ field }) => !field.readOnly))
  return isLimited || refers || model.indexes.some(({ unique }) => unique) || isGuarded(model)
}

/** Whether constraints and triggers that others made may reject writes; only the database knows their kinds. */
function isGuarded({ messages, managed }: ModelSpec): boolean {
  return !managed || Object.keys(messages).length > 0
}

/** Whether records of other models may prevent deletes of this one. */
function isHeld(model: ModelSpec, models: readonly ModelSpec[], seen: readonly ModelSpec[] = []): boolean {
  return models.some((other) =>
    other.relations.some(({ target }) => {
      if (target.table !== model.table) return false
      if (target.onDelete === 'restrict') return true
      return target.onDelete === 'cascade' && !seen.includes(other) && isHeld(other, models, [...seen, model])
    }),
  )
}

function componentSchemas(names: ReadonlyMap<Resource, SchemaNames>, schemas: FieldSchemas): JsonPart {
  const entries = [...names].flatMap(([resource, { shown, selected, partial, bodies }]) => [
    [shown, shownSchema(resource, schemas)] as const,
    [selected, selectedSchema(resource, schemas)] as const,
    [partial, partialSchema(resource, schemas)] as const,
    ...(['create', 'replace', 'update'] as const).map(
      (mode) => [bodies[mode], bodySchema(resource, mode, schemas)] as const,
    ),
  ])
  return { ...Object.fromEntries(entries), Problem: PROBLEM_SCHEMA }
}

const REJECTIONS = [400, 401, 403, 404, 406, 409, 412, 413, 415, 422, 428, 503]

function rejections(): JsonPart {
  return {
    ...Object.fromEntries(REJECTIONS.map((status) => [rejectionName(status), rejection(status)])),
    AnyOther: anyOther(),
    AnyProblem: anyProblem(),
  }
}

type Components = Readonly<Record<string, JsonPart>>

/** Removes components without references. */
function onlyUsed(paths: JsonPart, components: Components): Components {
  const used = new Set<string>()
  const follow = (part: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(/"#\/components\/([^/"]+)\/([^/"]+)/g)) {
      if (used.has(`${kind}/${name}`)) continue
      used.add(`${kind}/${name}`)
      follow(components[kind]?.[name] ?? null)
    }
  }
  follow(paths)
  return Object.fromEntries(
    Object.entries(components).map(([kind, parts]) => [
      kind,
      Object.fromEntries(Object.entries(parts).filter(([name]) => used.has(`${kind}/${name}`))),
    ]),
  )
}
