import { inspect } from 'node:util'
import { suggest } from '../config/words.js'
import { requirePath } from '../http/registrations/registration-checks.js'
import { PROBLEMS } from '../foundation/problem.js'
import { isMapping, requireFunction } from './require.js'

/** @throws Error that explains a mistake in the arguments of `use` */
export function requireUse(given: readonly unknown[]): void {
  const [target, middleware, options] = typeof given[0] === 'function' ? [undefined, ...given] : given
  if (target !== undefined) requireTarget(target)
  requireFunction(
    target === undefined ? 'the middleware of use()' : `the middleware of use(${inspect(target)})`,
    middleware,
  )
  requireOptions(options)
}

function requireTarget(target: unknown): void {
  if (typeof target === 'string') return requirePath('the path of use()', target)
  const isResource = isMapping(target) && typeof target['resource'] === 'string' && Object.keys(target).length === 1
  if (isResource) return
  throw new Error(
    `the first argument of use() is ${inspect(target, { depth: 0 })}; it must be a middleware, a path, or a resource such as { resource: 'book' }`,
  )
}

function requireOptions(options: unknown): void {
  if (options === undefined) return
  if (!isMapping(options))
    throw new Error(`the options of use() are ${inspect(options, { depth: 0 })}; they must be an object`)
  const unknown = Object.keys(options).find((key) => key !== 'problems')
  if (unknown !== undefined) {
    throw new Error(
      `the options of use() have the member \`${unknown}\`; ${suggest(unknown, ['problems'], 'member').join('; ')}`,
    )
  }
  const { problems } = options
  if (problems === undefined) return
  if (!Array.isArray(problems)) {
    throw new Error(
      `the option \`problems\` of use() is ${inspect(problems, { depth: 0 })}; it must be a list of problem types`,
    )
  }
  const types = Object.keys(PROBLEMS)
  const invalid: unknown = problems.find((type) => !types.includes(String(type)))
  if (invalid === undefined) return
  const help = suggest(String(invalid), types, 'problem type').join('; ')
  throw new Error(`the option \`problems\` of use() names ${inspect(invalid)}; ${help}`)
}
