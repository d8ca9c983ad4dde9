import type { Database } from '../../src/internal.js'

/** Books and authors, at one prefix and at a mount for each dialect. */
export const MOUNTED = `version: 1
models:
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 50 }
      status: { type: choice, choices: [draft, published], default: draft }
      pages: { type: integer, minimum: 1, maximum: 2000, nullable: true }
      author: { type: belongs_to, model: author }
      extra: { type: json, nullable: true }
      created_at: { type: timestamp, auto: on_create }
resources:
  author: { model: author, path: /authors/ }
  book:
    model: book
    path: /books/
    filterable: { title: [exact, icontains, istartswith], status: [exact, ne], pages: [gte, lte, range, isnull], author: [exact] }
    orderable: [title, pages]
    pagination: { max_page_size: 20 }
    bulk: [create]
mounts:
  - { path: /page, dialect: page }
  - { path: /json-server, dialect: json-server }
  - { path: /simple-rest, dialect: simple-rest }
  - { path: /crud, dialect: crud }
`

/** The number of books: `Book 01` to `Book 42`, of 10 to 420 pages, by three authors in turn, every second one published. */
export const BOOKS = 42

/** Writes the books and their authors. */
export async function stockBooks(database: Database): Promise<void> {
  const books = `select 'Book ' || to_char(n, 'FM00'), case n % 2 when 0 then 'published' else 'draft' end, n * 10, n % 3 + 1`
  for (const text of [
    `insert into authors (name) values ('Ada'), ('Bea'), ('Cleo')`,
    `insert into books (title, status, pages, author_id) ${books} from generate_series(1, ${BOOKS}) n`,
  ])
    await database.query({ text, values: [] })
}
