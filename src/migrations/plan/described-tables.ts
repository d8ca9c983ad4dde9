import { isOwnTable, isUnmanaged } from '../../config/model-spec.js'
import type { AppSpec, FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { opaque } from '../../fields/types/opaque.js'
import { foreignKey, type WantedColumn, wantedTable, type WantedTable } from './sql.js'

/**
 * All tables that the configuration describes, also those of other programs, to make them in an empty database. The tables of other programs have only
 * their unique indexes, and take null in columns that only the database fills. Columns of types that the database does not have, of an extension or
 * another program, are texts, as which requests see them; indexes of such columns are left out if they are not unique.
 */
export async function describeTables(
  { models }: Pick<AppSpec, 'models'>,
  database: Connection,
): Promise<readonly WantedTable[]> {
  const unknown = await unknownTypes(models, database)
  const others = models.filter(isUnmanaged)
  const names = new Set(others.map(({ name }) => name))
  const describe = (model: ModelSpec): WantedTable => {
    const table = wantedTable(model)
    const relations = model.relations.filter(({ target }) => names.has(target.model))
    const keys = relations.map((relation) => foreignKey(model.table, relation))
    const texts = new Set(table.columns.filter(({ type }) => unknown.has(type)).map(({ name }) => name))
    return {
      ...table,
      columns: table.columns.map((column) => (texts.has(column.name) ? withType(column, 'text') : column)),
      constraints: [...table.constraints, ...keys],
      indexes: table.indexes.filter(({ unique, columns }) => unique || !columns.some((each) => texts.has(each))),
    }
  }
  return [
    ...models.filter(isOwnTable).map(describe),
    ...others.map((model) => {
      const table = describe(model)
      const columns = table.columns.map((column, at) => freed(column, model.fields[at]))
      return { ...table, columns, indexes: table.indexes.filter(({ unique }) => unique) }
    }),
  ]
}

/** The types of opaque fields that a database does not have. */
async function unknownTypes(models: readonly ModelSpec[], database: Connection): Promise<ReadonlySet<string>> {
  const fields = models.flatMap((model) => model.fields).filter(({ type }) => type === opaque)
  const types = [...new Set(fields.map(({ type, options }) => type.column(options)))]
  const text = 'select name from jsonb_array_elements_text($1) name where to_regtype(name) is null'
  const { rows } = await database.query({ text, values: [JSON.stringify(types)] })
  return new Set(rows.flatMap(([name]) => name ?? []))
}

function withType(column: WantedColumn, type: string): WantedColumn {
  return { ...column, type, definition: column.definition.replace(column.type, () => type) }
}

/** Without its collation, which only the database of the other program may have. */
function freed(full: WantedColumn, field: FieldSpec | undefined): WantedColumn {
  const column = withType(full, full.type.replace(/ collate ".*"$/, ''))
  if (field === undefined) return column
  const isFilled = field.generated || (field.default !== undefined && 'call' in field.default && !column.filled)
  return isFilled && !field.primaryKey ? { ...column, definition: column.type } : column
}
