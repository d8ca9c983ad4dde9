import type { ErrorObject } from './ajv.js'
import type { Json } from '../../foundation/json.js'
import type { Path } from '../yaml/located.js'
import type { Report } from '../parse/report.js'
import { validateShape } from './shape-validator.js'
import { shapeWords } from './shape-words.js'

/** Reports every value of the wrong shape, and excludes it from later checks. */
export function checkShape(value: Json, report: Report): void {
  if (validateShape(value)) return
  for (const failures of byPlace(validateShape.errors ?? [])) {
    for (const failure of mostTelling(failures)) reportFailure(failure, value, report)
  }
}

interface Failure extends ErrorObject {
  readonly path: Path
}

/** Keywords whose errors only repeat those of their subschemas. */
const ECHOES = new Set(['if', 'oneOf'])

function byPlace(errors: readonly ErrorObject[]): readonly (readonly Failure[])[] {
  const places = new Map<string, Failure[]>()
  for (const error of errors) {
    if (ECHOES.has(error.keyword)) continue
    const failures = places.get(error.instancePath)
    const failure = { ...error, path: toPath(error.instancePath) }
    if (failures === undefined) places.set(error.instancePath, [failure])
    else failures.push(failure)
  }
  return [...places.values()]
}

function toPath(pointer: string): Path {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Keywords whose errors concern one member each, so all of them are reported. */
const PER_MEMBER = new Set(['additionalProperties', 'propertyNames', 'required'])

/** Of several errors about one value, the first explains it best: Ajv checks types before sizes. */
function mostTelling(failures: readonly Failure[]): readonly Failure[] {
  const choice = failures.find(({ keyword }) => keyword === 'anyOf')
  const own = failures.filter(({ keyword, propertyName }) => !PER_MEMBER.has(keyword) && propertyName === undefined)
  if (choice !== undefined) return [own.find(({ keyword }) => keyword !== 'type' && keyword !== 'anyOf') ?? choice]
  const missing = own.find(({ keyword }) => keyword === 'discriminator')
  const members = failures.filter(({ keyword }) => PER_MEMBER.has(keyword))
  return missing !== undefined && members.length > 0 ? members : [...members, ...own.slice(0, 1)]
}

function reportFailure(failure: Failure, root: Json, report: Report): void {
  const { keyword, path, params, parentSchema } = failure
  const value = failure.data as Json
  const words = shapeWords(keyword, { path, value, params, schema: parentSchema ?? {}, root })
  const at = words.member === undefined ? path : [...path, words.member]
  report.add({ help: [], ...words, path: at })
  if (keyword === 'additionalProperties') report.markUncertain(path)
  else report.markInvalid(at)
}
