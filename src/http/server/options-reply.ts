import { type Method, METHODS, type Reply, type RouteOptions } from '../route.js'

/** The value of `Allow`. */
export function allowed(methods: readonly Method[]): string {
  return METHODS.filter((method) => methods.includes(method))
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .concat('OPTIONS')
    .join(', ')
}

export function toOptionsReply(Allow: string, options: RouteOptions | undefined): Reply {
  if (!options) return { status: 204, headers: { Allow } }
  return { status: 200, headers: { Allow, ...options.headers }, body: options.describe() }
}
