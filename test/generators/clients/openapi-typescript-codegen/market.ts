import type { Market, Product } from '../market.js'
import { OpenAPI, type Problem, ProductService, SellerService } from './generated/index.js'
import { hasId, isAny, isList, told } from './told.js'

const isShown = <Shown>(data: Shown | Problem): data is Shown => !Object.hasOwn(Object(data) as object, 'request_id')

export function connect(baseUrl: string): Market {
  OpenAPI.BASE = baseUrl
  return {
    createSeller: (requestBody) => told(201, SellerService.createSeller({ requestBody }), hasId),
    createProduct: (requestBody) => told(201, ProductService.createProduct({ requestBody }), hasId),
    listProducts: (state, priceGte) =>
      told(200, ProductService.listProduct({ stateIn: [state], priceGte, ordering: ['-title'] }), isList),
    retrieveProduct: (id) => told(200, ProductService.retrieveProduct({ id }), isShown<Product>),
    changeProduct: (id, requestBody) => told(200, ProductService.partialUpdateProduct({ id, requestBody }), hasId),
    restock: (id, pieces) => told(200, ProductService.productRestock({ id, requestBody: { pieces } }), hasId),
    destroyProduct: (id) => told(204, ProductService.destroyProduct({ id }), isAny),
  }
}
