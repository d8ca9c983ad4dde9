import createClient from 'openapi-fetch'
import type { Snippets } from '../snippets.js'
import type { paths } from './generated.js'

export function connect(baseUrl: string): Snippets {
  const client = createClient<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } })
  const told = async <Data, Problem>(
    asked: Promise<{ readonly data?: Data; readonly error?: Problem; readonly response: Response }>,
  ) => {
    const { data, error, response } = await asked
    return { status: response.status, body: data, problem: error }
  }
  const at = (id: number) => ({ params: { path: { id } } })
  return {
    createByHand: (body) => told(client.POST('/api/snippets/', { body })),
    listByHand: () => told(client.GET('/api/snippets/')),
    destroyByHand: (id) => told(client.DELETE('/api/snippets/{id}/', at(id))),
    create: (body) => told(client.POST('/api/snippets-viewset/', { body })),
    list: (language) =>
      told(
        client.GET('/api/snippets-viewset/', { params: { query: { language, ordering: ['title', '-created_at'] } } }),
      ),
    replace: (id, body) => told(client.PUT('/api/snippets-viewset/{id}/', { ...at(id), body })),
  }
}
