import createClient from 'openapi-fetch'
import type { Market } from '../market.js'
import type { paths } from './generated.js'

export function connect(baseUrl: string): Market {
  const client = createClient<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } })
  const told = async <Data, Problem>(
    asked: Promise<{ readonly data?: Data; readonly error?: Problem; readonly response: Response }>,
  ) => {
    const { data, error, response } = await asked
    return { status: response.status, body: data, problem: error }
  }
  const at = (id: number) => ({ params: { path: { id } } })
  return {
    createSeller: (body) => told(client.POST('/market/sellers/', { body })),
    createProduct: (body) => told(client.POST('/market/products/', { body })),
    listProducts: (state, price__gte) =>
      told(
        client.GET('/market/products/', {
          params: { query: { state__in: [state], price__gte, ordering: ['-title', 'price'] } },
        }),
      ),
    retrieveProduct: (id) => told(client.GET('/market/products/{id}/', at(id))),
    changeProduct: (id, body) => told(client.PATCH('/market/products/{id}/', { ...at(id), body })),
    restock: (id, pieces) => told(client.POST('/market/products/{id}/restock/', { ...at(id), body: { pieces } })),
    destroyProduct: (id) => told(client.DELETE('/market/products/{id}/', at(id))),
  }
}
