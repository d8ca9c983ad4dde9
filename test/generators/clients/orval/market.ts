import type { Market } from '../market.js'
import * as api from './generated.js'
import { ask, told } from './told.js'

export function connect(baseUrl: string): Market {
  ask(baseUrl)
  return {
    createSeller: (body) => told(api.createSeller(body)),
    createProduct: (body) => told(api.createProduct(body)),
    listProducts: (state, price__gte) =>
      told(api.listProduct({ state__in: [state], price__gte, ordering: ['-title'] })),
    retrieveProduct: (id) => told(api.retrieveProduct(id)),
    changeProduct: (id, body) => told(api.partialUpdateProduct(id, body)),
    restock: (id, pieces) => told(api.productRestock(id, { pieces })),
    destroyProduct: (id) => told(api.destroyProduct(id)),
  }
}
