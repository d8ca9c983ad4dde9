import assert from 'node:assert/strict'

/** An answer as every client can tell it. */
export interface Answer<Body> {
  readonly status: number
  readonly body?: Body | undefined
  readonly problem?: unknown
}

export interface Product {
  readonly id: number
  readonly title: string
  readonly price: string
  readonly state: 'draft' | 'listed' | 'sold out'
  readonly grade: 'a' | 'b' | null
}

export interface NewProduct {
  readonly seller: number
  readonly title: string
  readonly price: string
  readonly labels: { readonly [name: string]: string }
}

/** What each generated client of the market is asked to do. */
export interface Market {
  createSeller(body: { readonly name: string }): Promise<Answer<{ readonly id: number; readonly name: string }>>
  createProduct(body: NewProduct): Promise<Answer<Product>>
  listProducts(state: 'draft' | 'listed', least: string): Promise<Answer<readonly Product[]>>
  retrieveProduct(id: number): Promise<Answer<Product>>
  changeProduct(id: number, body: { readonly state: 'listed'; readonly grade: 'b' | null }): Promise<Answer<Product>>
  restock(id: number, pieces: number): Promise<Answer<Product>>
  destroyProduct(id: number): Promise<Answer<unknown>>
}

/** Uses everything once; fails where an answer is another than the types promise. */
export async function use(market: Market): Promise<void> {
  const seller = await market.createSeller({ name: 'Anna' })
  assert.equal(seller.body?.name, 'Anna')
  const draft = { seller: seller.body.id, title: 'Lamp', price: '12.5', labels: { colour: 'green' } }
  const made = await market.createProduct(draft)
  assert.deepEqual([made.status, made.body?.price, made.body?.state, made.body?.grade], [201, '12.50', 'draft', null])
  const id = made.body?.id ?? 0
  assert.equal((await market.listProducts('draft', '1')).body?.length, 1)
  assert.deepEqual((await market.listProducts('draft', '13')).body, [])
  assert.equal((await market.retrieveProduct(id)).body?.title, 'Lamp')
  const changed = await market.changeProduct(id, { state: 'listed', grade: 'b' })
  assert.deepEqual([changed.body?.state, changed.body?.grade], ['listed', 'b'])
  assert.equal((await market.restock(id, 3)).status, 200)
  const rejected = await market.createProduct({ ...draft, title: '' })
  assert.equal(rejected.status, 400)
  assert.match(JSON.stringify(rejected.problem), /"title":"Title must be between 1 and 100 characters"/)
  assert.equal((await market.destroyProduct(id)).status, 204)
  const missing = await market.retrieveProduct(id)
  assert.deepEqual([missing.status, missing.body], [404, undefined])
  assert.match(JSON.stringify(missing.problem), /"title":"Not found"/)
}
