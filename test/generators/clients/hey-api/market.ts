import type { Market } from '../market.js'
import { client } from './generated/client.gen.js'
import * as api from './generated/sdk.gen.js'
import { told } from './told.js'

export function connect(baseUrl: string): Market {
  client.setConfig({ baseUrl })
  return {
    createSeller: (body) => told(api.createSeller({ body })),
    createProduct: (body) => told(api.createProduct({ body })),
    listProducts: (state, price__gte) =>
      told(api.listProduct({ query: { state__in: [state], price__gte, ordering: ['-title', 'price'] } })),
    retrieveProduct: (id) => told(api.retrieveProduct({ path: { id } })),
    changeProduct: (id, body) => told(api.partialUpdateProduct({ path: { id }, body })),
    restock: (id, pieces) => told(api.productRestock({ path: { id }, body: { pieces } })),
    destroyProduct: (id) => told(api.destroyProduct({ path: { id } })),
  }
}
