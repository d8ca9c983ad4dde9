import { type Api, startApi } from './api.js'

/** An application of authors and books. */
const LIBRARY = `version: 1
api: { title: Library }
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, min: 1, max: 100 }
      born_on: { type: date, nullable: true }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100 }
      author: { type: belongs_to, model: author }
      status: { type: choice, choices: [draft, published, archived], default: draft }
      price: { type: decimal, precision: 10, scale: 2, minimum: "0.01" }
      copies: { type: bigint, nullable: true }
      lendable: { type: boolean, default: true }
      blurb: { type: text, nullable: true, max: 2000 }
      extra: { type: json, nullable: true }
      created_at: { type: timestamp, auto: on_create }
    indexes: [[status, id], [author, id], [title, id], [created_at, id]]
resources:
  author:
    model: author
    path: /authors/
    filterable: { name: [exact, startswith] }
  book:
    model: book
    path: /books/
    filterable: { status: [exact], author: [exact], created_at: [gte] }
    orderable: [title, created_at]
    pagination: { style: page_number, page_size: 8 }
    idempotency: required
`

const AUTHORS = ['Ursula K. Le Guin', 'Italo Calvino', 'Octavia E. Butler', 'Stanisław Lem'] as const
const BOOKS: readonly (readonly [
  title: string,
  author: number,
  status: string,
  price: string,
  copies: number | null,
])[] = [
  ['The Dispossessed', 1, 'published', '12.50', 31],
  ['Invisible Cities', 2, 'published', '9.90', 12],
  ['Kindred', 3, 'published', '14.00', 8],
  ['Solaris', 4, 'published', '11.20', 19],
  ['The Left Hand of Darkness', 1, 'archived', '10.00', null],
  ['If on a Winter’s Night a Traveler', 2, 'draft', '13.75', null],
  ['Parable of the Sower', 3, 'published', '15.00', 27],
  ['The Cyberiad', 4, 'draft', '8.40', 3],
  ['The Lathe of Heaven', 1, 'published', '9.10', 14],
]

/** Serves a small library that contains books. */
export async function startLibrary(): Promise<Api> {
  const api = await startApi(LIBRARY)
  for (const name of AUTHORS) await api.send('POST', '/api/authors/', { name })
  for (const [index, [title, author, status, price, copies]] of BOOKS.entries()) {
    const key = { 'idempotency-key': `book-of-the-library-${index}` }
    await api.send('POST', '/api/books/', { title, author, status, price, copies }, key)
  }
  return api
}
