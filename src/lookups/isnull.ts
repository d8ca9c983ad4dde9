import type { Lookup } from './lookup.js'
import { FLAG } from './operands.js'

export const isnull: Lookup<boolean> = {
  name: 'isnull',
  isOffered: () => true,
  operand: FLAG,
  sql: (column, { field, value }) =>
    field.type.mayBeComposite
      ? `${column} is ${value ? 'not distinct' : 'distinct'} from null`
      : `${column} is ${value ? 'null' : 'not null'}`,
  holds: (stored, [flag]) => (stored === null) === (flag === 'true'),
  ofNull: true,
  index: () => 'useful',
  meaning: '`true`: is null; `false`: is not',
  description: 'is null (`true`) or is not null (`false`)',
}
