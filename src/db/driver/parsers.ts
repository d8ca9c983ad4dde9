import pg from 'pg'

const DATE = 1082

const asText = (cell: string): string => cell

/** The driver's own types, for migrations and tests, except that a date stays text: a Date would move it by time zone. */
export const driverTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === DATE ? asText : pg.types.getTypeParser(oid, format),
}
