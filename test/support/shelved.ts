/** A configuration of resources for books on shelves. Their paths have no prefix. */
export const shelvedBooks = (resources: string): string => `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      shelf: { type: string, max: 20 }
      pages: { type: integer, nullable: true }
    indexes:
      - [shelf, id]
resources:
${resources}`
