/** Express and objection as in their tutorials: a model with a JSON schema, a router, objects in and out. No log, no extra headers. */
import express from 'express'
import knex from 'knex'
import objection from 'objection'
import pg from 'pg'

// Ids as numbers, which is not the driver's default.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

class Snippet extends objection.Model {
  declare id: number
  static override tableName = 'snippets'
  static override jsonSchema = {
    type: 'object',
    required: ['title', 'code', 'language'],
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 100 },
      code: { type: 'string', minLength: 1, maxLength: 10_000 },
      language: { type: 'string', minLength: 1, maxLength: 50 },
    },
  }
}

const database = knex({ client: 'pg', connection: process.env.DATABASE_URL ?? '', pool: { min: 0, max: 10 } })
objection.Model.knex(database)

const router = express.Router()

router.get('/', async (request, response) => {
  const { page = '1', page_size: size = '10', language, title, ordering } = request.query as Record<string, string>
  const query = Snippet.query()
  if (language !== undefined) query.where('language', language)
  if (title !== undefined) query.where('title', title)
  if (ordering !== undefined) query.orderBy(ordering.replace('-', ''), ordering.startsWith('-') ? 'desc' : 'asc')
  query.orderBy('id', ordering?.startsWith('-') ? 'desc' : 'asc')
  const { results, total } = await query.page(Number(page) - 1, Number(size))
  response.set('X-Total-Count', String(total)).json(results)
})

router.post('/', async (request, response) => {
  const snippet = await Snippet.query().insertAndFetch(request.body)
  response.status(201).location(`${request.baseUrl}/${snippet.id}/`).json(snippet)
})

router.get('/:id', async (request, response) => {
  response.json(await Snippet.query().findById(request.params.id).throwIfNotFound())
})

router.put('/:id', async (request, response) => {
  response.json(await Snippet.query().updateAndFetchById(request.params.id, request.body).throwIfNotFound())
})

router.patch('/:id', async (request, response) => {
  response.json(await Snippet.query().patchAndFetchById(request.params.id, request.body).throwIfNotFound())
})

const app = express()
app.use(express.json())
app.use('/api/snippets-viewset', router)
app.use(((error, _request, response, _next) => {
  if (error instanceof objection.ValidationError) response.status(400).json(error.data)
  else if (error instanceof objection.NotFoundError) response.status(404).json({ error: 'not found' })
  else response.status(500).json({ error: 'failure' })
}) satisfies express.ErrorRequestHandler)

const server = app.listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void database.destroy()
})
