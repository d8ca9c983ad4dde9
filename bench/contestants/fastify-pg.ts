/**
 * Hand-written with Fastify and pg: schemas for input and output, prepared statements, the count in the statement of the page. No log and no extra
 * headers, unless started with `--duties`.
 */
import Fastify from 'fastify'
import pg from 'pg'
import { addDuties } from './fastify-duties.js'

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const app = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
if (process.argv.includes('--duties')) addDuties(app)

interface Body {
  readonly title?: string
  readonly code?: string
  readonly language?: string
}

const WRITABLE = {
  title: { type: 'string', minLength: 1, maxLength: 100 },
  code: { type: 'string', minLength: 1, maxLength: 10_000 },
  language: { type: 'string', minLength: 1, maxLength: 50 },
}
const RECORD = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    title: { type: 'string' },
    code: { type: 'string' },
    language: { type: 'string' },
    created_at: { type: 'string', format: 'date-time' },
  },
}
const WHOLE = {
  type: 'object',
  required: ['title', 'code', 'language'],
  properties: WRITABLE,
  additionalProperties: false,
}
const PART = { type: 'object', properties: WRITABLE, additionalProperties: false }
const QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    page: { type: 'integer', minimum: 1, default: 1 },
    page_size: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    language: { type: 'string' },
    ordering: { type: 'string', enum: ['created_at', '-created_at', 'title', '-title'] },
  },
}
const ID = { type: 'object', properties: { id: { type: 'string', pattern: '^[1-9][0-9]{0,17}$' } } }

const COLUMNS = 'id, title, code, language, created_at'
const PATH = '/api/snippets-viewset/'

interface Query {
  readonly page: number
  readonly page_size: number
  readonly language?: string
  readonly ordering?: string
}

app.get<{ Querystring: Query }>(
  PATH,
  { schema: { querystring: QUERY, response: { 200: { type: 'array', items: RECORD } } } },
  async ({ query }, reply) => {
    const { page, page_size: size, language, ordering = 'id' } = query
    const where = language === undefined ? '' : 'where language = $3'
    const direction = ordering.startsWith('-') ? ' desc' : ''
    const column = ordering.replace('-', '')
    const order = column === 'id' ? 'id' : `${column}${direction}, id${direction}`
    const { rows } = await pool.query({
      name: `list ${where} ${order}`,
      text: `select ${COLUMNS}, (select count(*) from (select 1 from snippets ${where} limit 10001) c) as total
        from snippets ${where} order by ${order} limit $1 offset $2`,
      values: [size, (page - 1) * size, ...(language === undefined ? [] : [language])],
    })
    reply.header('X-Total-Count', String(rows[0]?.total ?? 0))
    return rows
  },
)

app.post<{ Body: Body }>(PATH, { schema: { body: WHOLE, response: { 201: RECORD } } }, async ({ body }, reply) => {
  const { rows } = await pool.query({
    name: 'create',
    text: `insert into snippets (title, code, language) values ($1, $2, $3) returning ${COLUMNS}`,
    values: [body.title, body.code, body.language],
  })
  return reply.code(201).header('Location', `${PATH}${rows[0].id}/`).send(rows[0])
})

app.get<{ Params: { id: string } }>(
  `${PATH}:id`,
  { schema: { params: ID, response: { 200: RECORD } } },
  async ({ params }, reply) => {
    const { rows } = await pool.query({
      name: 'get',
      text: `select ${COLUMNS} from snippets where id = $1`,
      values: [params.id],
    })
    return rows[0] ?? reply.code(404).send({ error: 'not found' })
  },
)

for (const [method, body] of [
  ['PUT', WHOLE],
  ['PATCH', PART],
] as const) {
  app.route<{ Params: { id: string }; Body: Body }>({
    method,
    url: `${PATH}:id`,
    schema: { params: ID, body, response: { 200: RECORD } },
    handler: async (request, reply) => {
      const names = Object.keys(request.body)
      const changes = names.map((name, index) => `${name} = $${index + 2}`).join(', ')
      const { rows } = await pool.query({
        name: `update ${names.join()}`,
        text: `update snippets set ${changes} where id = $1 returning ${COLUMNS}`,
        values: [request.params.id, ...Object.values(request.body)],
      })
      return rows[0] ?? reply.code(404).send({ error: 'not found' })
    },
  })
}

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
process.on('SIGTERM', () => {
  app.server.closeAllConnections()
  void app.close().then(() => pool.end())
})
