import pg from 'pg'

const DATE = 1082

function asText(cell: string): string {
  return cell
}

/** Every cell in PostgreSQL's text form. */
export const textTypes = { getTypeParser: () => asText }

/** The driver's own types, for migrations and tests, except that dates stay text: a Date would shift them by the time zone. */
export const driverTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === DATE ? asText : pg.types.getTypeParser(oid, format),
}
