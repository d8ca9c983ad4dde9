/** The code of the market: a computed field, actions of every shape, and a route by hand. */
export default function market(app) {
  app.compute('product', 'heading', ({ title, price }) => `${title} (${price})`)

  app.action('product', 'restock', {
    summary: 'Add to the stock of a product',
    input: {
      pieces: { type: 'integer', minimum: 1, maximum: 1000 },
      reason: { type: 'string', max: 50, nullable: true },
    },
    output: 'record',
    handle: ({ context, id, record, input }) =>
      context.store(app.resource('product')).update(id, { stock: Math.min(record.stock + input.pieces, 100_000) }),
  })

  app.action('product', 'quote', {
    summary: 'Say what some pieces of a product cost',
    method: 'GET',
    input: { pieces: { type: 'integer', minimum: 1, default: 1 } },
    output: { pieces: { type: 'integer' }, each: { type: 'decimal', precision: 8, scale: 2 } },
    handle: ({ record, input }) => ({ pieces: input.pieces, each: record.price }),
  })

  app.action('product', 'retire', {
    summary: 'Take a product off the market',
    async handle({ context, id }) {
      await context.store(app.resource('product')).update(id, { state: 'sold out' })
    },
  })

  app.action('seller', 'greet', {
    summary: 'Greet all sellers',
    on: 'collection',
    input: { greeting: { type: 'choice', choices: ['hello', 'goodbye'] } },
    output: { said: { type: 'string' } },
    handle: ({ input }) => ({ said: input.greeting }),
  })

  app.route('GET', '/opening-hours/', 'opening-hours', () => ({ status: 200, body: { from: 8, to: 18 } }), {
    summary: 'Say when the market is open',
    responses: {
      200: {
        description: 'The hours.',
        schema: {
          type: 'object',
          properties: { from: { type: 'integer' }, to: { type: 'integer' } },
          required: ['from', 'to'],
        },
      },
    },
  })
}
