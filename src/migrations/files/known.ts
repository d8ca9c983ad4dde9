import { formatTableName } from '../../fields/table-name.js'
import type { Migration } from './files.js'
import { NAME, unquoted } from './statements.js'
import { partsOf } from './steps.js'

const TABLE = String.raw`(?:if\s+exists\s+)?(?:only\s+)?(?<schema>${NAME}\s*\.\s*)?(?<table>${NAME})\s*\*?`
const RENAMED_TABLE = new RegExp(String.raw`^alter\s+table\s+${TABLE}\s+rename\s+to\s+(?<later>${NAME})\s*$`, 'isu')
const RENAMED_PART = new RegExp(
  String.raw`^alter\s+table\s+${TABLE}\s+rename\s+(?:column\s+|constraint\s+)?(?<part>${NAME})\s+to\s+(?<later>${NAME})\s*$`,
  'isu',
)

/** The existing objects that files list as known, under the names that later files give to their tables, columns and constraints. */
export function knownObjects(files: readonly Migration[]): readonly string[] {
  let known: readonly string[] = []
  for (const file of files) {
    for (const { text } of file.up) known = known.map((object) => renamed(object, text))
    known = [...known, ...file.known]
  }
  return known
}

function renamed(object: string, statement: string): string {
  const [table, part] = partsOf(object)
  const { later: laterTable = '', ...ofTable } = RENAMED_TABLE.exec(statement)?.groups ?? {}
  if (ofTable.table !== undefined && tableIn(ofTable.table) === table && ofTable.schema === undefined)
    return [tableIn(laterTable), ...(part === undefined ? [] : [part])].join('.')
  const { later: laterPart = '', ...ofPart } = RENAMED_PART.exec(statement)?.groups ?? {}
  const isPart = ofPart.part !== undefined && ofPart.schema === undefined && tableIn(ofPart.table ?? '') === table
  return isPart && unquoted(ofPart.part ?? '') === part ? `${table}.${unquoted(laterPart)}` : object
}

/** The name of a table of the current schema from its SQL, as the catalogue spells it. */
function tableIn(name: string): string {
  return formatTableName({ schema: undefined, name: unquoted(name) })
}
