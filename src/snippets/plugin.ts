import { setImmediate } from 'node:timers/promises'
import {
  type Context,
  type Handler,
  type Id,
  type JsonBody,
  type Plugin,
  Problem,
  type Reply,
  type Resource,
  type Row,
} from 'snippetctl'
import { createHighlighter, type Highlight } from './highlight.js'
import { OPERATIONS, REJECTED } from './operations.js'

const BATCH = 500
const TURN_CHARACTERS = 65_536
const CACHE_BYTES = 4 * 1024 * 1024

/** The problems of a body that is not a valid snippet. */
const BODY_PROBLEMS: ReadonlySet<string> = new Set(['malformed_body', 'unsupported_media_type', 'validation'])

function renderProblem({ message, errors }: Problem) {
  if (errors.length === 0) return { error: message }
  return {
    error: errors.map((error) => error.message).join('; '),
    errors: Object.fromEntries(errors.map(({ field, message }) => [field, message])),
  }
}

function notFound(): Problem {
  return new Problem('not_found', 'Snippet not found')
}

type Present = (row: Row) => Promise<{ readonly id: unknown } & Readonly<Record<string, unknown>>>

function presenter(highlight: Highlight): Present {
  return async ({ id, title, code, language }) => {
    const highlighted = await highlight(String(code), String(language))
    return { id, title, code, language, highlighted }
  }
}

/** The body of the list, row by row. */
async function* listing(batches: AsyncIterable<readonly Row[]>, present: Present): AsyncGenerator<string> {
  let separator = ''
  let sinceTurn = 0
  yield '{"snippets":['
  for await (const batch of batches) {
    for (const row of batch) {
      const { id, ...rest } = await present(row)
      const text = `${separator}{"id":${id},${JSON.stringify(rest).slice(1)}`
      yield text
      separator = ','
      sinceTurn += text.length
      if (sinceTurn < TURN_CHARACTERS) continue
      // If all HTML is cached, the loop would otherwise never yield to other requests.
      await setImmediate()
      sinceTurn = 0
    }
  }
  yield ']}'
}

/** The handlers for snippets. */
function endpoints(snippets: Resource, present: Present) {
  const policy = { mediaTypes: ['application/json'], optional: true, limit: snippets.bodyLimit }

  const idOf = ({ params: { id = '' } }: Context): Id => {
    const parsed = snippets.parseId(id)
    if (parsed === undefined) throw notFound()
    return parsed
  }

  /** Responds with `status` if `read` rejects the body, otherwise with the result of `accept`. */
  const withRow =
    (status: number, read: (body: JsonBody) => Row, accept: (row: Row, context: Context) => Promise<Reply>): Handler =>
    async (context) => {
      let row: Row
      try {
        row = read(await context.body(policy))
      } catch (problem) {
        if (!(problem instanceof Problem && BODY_PROBLEMS.has(problem.type))) throw problem
        return { status, body: renderProblem(problem) }
      }
      return accept(row, context)
    }

  const list: Handler = (context) => ({ status: 200, stream: listing(context.store(snippets).batches(BATCH), present) })

  const create = withRow(
    400,
    (body) => snippets.parseBody(body, 'create', ['highlighted']),
    async (row, context) => {
      const { item } = await context.store(snippets).create(row)
      return { status: 201, body: { message: 'Snippet created', snippet: await present(item) } }
    },
  )

  const retrieve: Handler = async (context) => {
    const row = await context.store(snippets).retrieve(idOf(context))
    if (!row) throw notFound()
    return { status: 200, body: { snippet: await present(row) } }
  }

  const update = withRow(
    422,
    (body) => snippets.parseBody(body, 'replace', ['highlighted']),
    async (row, context) => {
      const stored = await context.store(snippets).update(idOf(context), row)
      if (!stored) throw notFound()
      return { status: 200, body: { message: 'Snippet updated', snippet: await present(stored) } }
    },
  )

  const destroy: Handler = async (context) => {
    if (!(await context.store(snippets).destroy(idOf(context)))) throw notFound()
    return { status: 204 }
  }

  return { list, create, retrieve, update, destroy }
}

/** The hand-written, function-based endpoints of the snippet service. */
const plugin: Plugin = (app) => {
  const maxPageSize = app.setting('max_page_size', { type: 'integer', minimum: 0 }, 50)
  const config: Handler = () =>
    maxPageSize > 0
      ? { status: 200, body: { max_page_size: maxPageSize } }
      : { status: 503, body: { error: 'max_page_size must be positive' } }
  const present = presenter(createHighlighter({ maxBytes: CACHE_BYTES }))
  const { list, create, retrieve, update, destroy } = endpoints(app.resource('snippet'), present)

  app.problems('/snippets/', renderProblem, REJECTED)
  app.route('GET', '/snippets/', 'snippets-list', list, OPERATIONS.list)
  app.route('POST', '/snippets/', 'snippets-create', create, OPERATIONS.create)
  app.route('GET', '/snippets/config/', 'snippets-config', config, OPERATIONS.config)
  app.route('GET', '/snippets/{id}/', 'snippets-retrieve', retrieve, OPERATIONS.retrieve)
  app.route('PUT', '/snippets/{id}/', 'snippets-update', update, OPERATIONS.update)
  app.route('DELETE', '/snippets/{id}/', 'snippets-delete', destroy, OPERATIONS.destroy)
}

export default plugin
