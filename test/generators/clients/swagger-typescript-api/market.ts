import type { Market } from '../market.js'
import { Api } from './generated/api.js'
import { told } from './told.js'

export function connect(baseUrl: string): Market {
  const { market } = new Api({ baseUrl, baseApiParams: { format: 'json' } })
  return {
    createSeller: (body) => told(market.createSeller(body)),
    createProduct: (body) => told(market.createProduct(body)),
    listProducts: (state, price__gte) =>
      told(market.listProduct({ state__in: [state], price__gte, ordering: ['-title'] })),
    retrieveProduct: (id) => told(market.retrieveProduct(id)),
    changeProduct: (id, body) => told(market.partialUpdateProduct(id, body)),
    restock: (id, pieces) => told(market.productRestock(id, { pieces })),
    destroyProduct: (id) => told(market.destroyProduct(id, { format: undefined })),
  }
}
