import {
  formatExact,
  kindOf,
  type Members,
  type ResourceSpec,
  sourceOfText,
  type StoredRecord,
  withoutTrailingZeros,
} from '../../../src/internal.js'

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

/** A body from the texts of its values, with all digits. */
export function jsonOf({ model }: ResourceSpec, body: StoredRecord): string {
  const members = Object.entries(body).map(([name, text]) => {
    const field = model.fields.find((each) => each.name === name)
    const source = field === undefined || text === null ? JSON.stringify(text) : sourceOfText(field, text)
    return `${JSON.stringify(name)}:${source}`
  })
  return `{${members.join()}}`
}

/** The texts of the values of a record in a response. */
export function textsOf(record: Members): StoredRecord {
  return Object.fromEntries([...record].map(([name, value]) => [name, value === null ? null : formatExact(value)]))
}

/**
 * The JSON of a record, with its members in order and `…` in place of values that cannot be compared as texts.
 * @param known the record as far as its values are known
 */
export function comparable(
  { model }: ResourceSpec,
  record: StoredRecord,
  known: Readonly<Record<string, string | null | undefined>> = record,
): string {
  const members = Object.entries(record).flatMap(([name, value]) => {
    const field = model.fields.find((each) => each.name === name)
    if (field === undefined) return []
    if (known[name] === undefined) return [[name, '…']]
    if (!isSimple(field)) return [[name, value === null ? null : '…']]
    return [[name, value !== null && kindOf(field) === 'number' ? withoutZeros(value) : value]]
  })
  return JSON.stringify(
    Object.fromEntries(members.toSorted(([one = ''], [other = '']) => (String(one) < String(other) ? -1 : 1))),
  )
}

/** A number without zeros at the end of its fraction: responses have all decimals of the column, requests need not. */
function withoutZeros(number: string): string {
  const [whole = '', fraction = ''] = number.split('.')
  const significant = withoutTrailingZeros(fraction)
  return significant === '' ? whole : `${whole}.${significant}`
}
