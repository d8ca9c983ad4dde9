import type { Route } from '../http/route.js'
import type { RouteTable } from '../http/route-table.js'
import { type Member, formatObject, formatValue } from './spelling.js'

/** The arguments for the path of each named route. Ids are values of records, or text from a URL. */
export function routeTypes(routes: RouteTable): readonly Member[] {
  // The first route of a name determines its types.
  const named = new Map([...routes].reverse().map((route) => [route.name, route]))
  return routes.names().map((name) => {
    const route = named.get(name)
    const members = (routes.parameters(name) ?? []).map((parameter) => ({
      name: parameter,
      type: parameterType(route, parameter),
    }))
    return { name, type: formatObject(members, 6) }
  })
}

function parameterType(route: Route | undefined, parameter: string): string {
  const key = (route?.generated ?? route?.action)?.resource.spec.model.key.find(({ name }) => name === parameter)
  if (!key) return 'bigint | number | string'
  const type = formatValue(key)
  return type === 'string' ? type : `${type} | string`
}
