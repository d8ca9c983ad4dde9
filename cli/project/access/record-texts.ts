import { jsonOfText, kindOf, type ResourceSpec, type StoredRecord } from '../../../src/internal.js'

type Field = ResourceSpec['model']['fields'][number]

/** Whether the text of a value is its JSON. */
export function isSimple(field: Field): boolean {
  return kindOf(field) !== undefined
}

/** The members of a record that a body can have. */
export function simplePart({ model }: ResourceSpec, record: StoredRecord): StoredRecord {
  const fields = model.fields.filter(
    (field) => isSimple(field) && !field.readOnly && !field.assigned && field.name in record,
  )
  return Object.fromEntries(fields.map(({ name }) => [name, record[name] ?? null]))
}

/** A body from the texts of its values. */
export function jsonOf({ model }: ResourceSpec, body: StoredRecord): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(body).map(([name, text]) => {
      const field = model.fields.find((each) => each.name === name)
      return [name, field === undefined || text === null ? text : jsonOfText(field, text)]
    }),
  )
}

/** A record without what only the database knows before it is stored. */
export function withoutAssigned({ model }: ResourceSpec, record: object): object {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => !model.fields.some((field) => field.name === name && field.assigned)),
  )
}

/** The names of the members of a record, with the values that can be compared as texts. */
export function comparable({ model }: ResourceSpec, record: object): string {
  const members = Object.entries(record).flatMap(([name, value]) => {
    const field = model.fields.find((each) => each.name === name)
    if (field === undefined) return []
    if (!isSimple(field)) return [[name, value === null ? null : '…']]
    return [[name, value === null ? null : kindOf(field) === 'number' ? String(Number(value)) : String(value)]]
  })
  return JSON.stringify(
    Object.fromEntries(members.toSorted(([one = ''], [other = '']) => (String(one) < String(other) ? -1 : 1))),
  )
}
