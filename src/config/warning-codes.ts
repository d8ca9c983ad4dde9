export interface CodeEntry {
  readonly title: string
  readonly explanation: string
}

/** The codes SC4xx of `DIAGNOSTICS`: the configuration works, and costs more, or allows more, than it has to. */
export const WARNINGS = {
  SC401: {
    title: 'Index missing',
    explanation:
      'Without an index, a filter reads the whole table and an order sorts it for every page. Add the line that the help shows, and write the migration.',
  },
  SC402: {
    title: 'Index not needed',
    explanation:
      'No list filters or orders by the first field of the index, or another index starts with the same fields. Every write still has to update it.',
  },
  SC403: {
    title: 'Index missing in the database',
    explanation:
      'Found by `check --database`: the file declares or implies the index, and the database does not have it. Either no migration creates it yet, or it was dropped by hand.',
  },
  SC404: {
    title: 'Index not valid',
    explanation:
      'Found by `check --database`: `create index concurrently` failed or was interrupted. PostgreSQL updates such an index but never reads it. Rebuild or drop it. Or some partitions of a table lack the index: create it on each of them, and attach it.',
  },
  SC405: {
    title: 'Index of the database not needed',
    explanation:
      'Found by `check --database`: the file does not declare the index, and either no list needs it and PostgreSQL has not used it, or another index starts with the same columns.',
  },
  SC406: {
    title: 'Records longer than any body',
    explanation:
      'The longest record that the rules of the fields allow has more bytes than `api.max_body` allows. Sending such a record gives a 413.',
  },
  SC407: {
    title: 'Index too small for its values',
    explanation:
      'PostgreSQL rejects a row that needs more than 2,704 bytes in an index, and a character needs up to four. Such a value gives a 400; a smaller `max` makes the limit explicit.',
  },
  SC408: {
    title: 'Constraint missing in the database',
    explanation:
      'Found by `check --database`: a name under `messages` of a model is not the name of a constraint or unique index of its table, or of a foreign key that refers to it. The message is never used.',
  },
  SC409: {
    title: 'Unmanaged table differs',
    explanation:
      'Found by `check --database`: a table or view with `managed: false` does not match its model. It is served as long as its columns exist and have the types of the fields.',
  },
  SC410: {
    title: 'Key does not identify records',
    explanation:
      'Found by `check --database`: several records have the same values in the fields of the primary key, or null. A path would lead to any of them, and a change would change all. Or a text in the key is empty: a record with such a key is listed, but has no path.',
  },
  SC411: {
    title: 'Unique value reveals hidden records',
    explanation:
      'A value that is unique among all records is rejected with 409 although the caller does not see the record that has it. Make it unique together with the field by which the grant separates records.',
  },
  SC412: {
    title: 'Deletion reaches further than the grant',
    explanation:
      '`on_delete: cascade` also deletes the records that refer to the deleted record, even if no grant allows the caller to delete them directly. `on_delete: set_null` changes them in the same way.',
  },
  SC413: {
    title: 'Dialect without effect',
    explanation:
      'Clients of dialects identify each record by one value. Records without a primary key keep the dialect `plain` despite `api.dialect`, and a mount with a dialect leaves them out.',
  },
  SC414: {
    title: 'Computed field shows a hidden one',
    explanation:
      'A grant takes a field out by `except`, and still shows a computed field with it under `from`. Its value can tell the hidden one. Take out the computed field, too, or list the fields that the grant shows.',
  },
  SC415: {
    title: 'Grant without effect',
    explanation:
      'A caller can change or delete a record, or run an action on it, only if it may retrieve it; otherwise it is 404. None of the grants of this resource has `retrieve`.',
  },
  SC416: {
    title: 'Resource in place of a page',
    explanation:
      'Explore has the page `/explore/`, and one for each resource, at `/explore` and its path. Swagger UI is at `/docs/`. A resource at the path of a page is served, and the page is not, unless `api.explore` is `false`.',
  },
  SC417: {
    title: 'Dialect without a required header',
    explanation:
      'The client libraries of dialects send neither `If-Match` nor `Idempotency-Key`. With `concurrency: required` they cannot change or delete records, and with `idempotency: required` they cannot create any.',
  },
  SC418: {
    title: 'Default differs in the database',
    explanation:
      'Found by `check --database`: the column has another default than its field declares. A new record without a value of the field gets the default of the column, also if a request makes it: the service writes the declared value only if the column has no default and the table is unmanaged (`managed: false`).',
  },
} as const satisfies Readonly<Record<string, CodeEntry>>
