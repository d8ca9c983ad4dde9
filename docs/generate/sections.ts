import { commandTables, exitCodes } from './commands.js'
import { configKeys, exampleFile, fieldTypes, fieldTypesAtAGlance } from './configuration.js'
import { pluginApi } from './plugin-api.js'
import { diagnostics, dialects, limits, lookups, paginationStyles, problems } from './tables.js'

/** What the pages take from the program itself, by the name that stands in their marks. */
const SECTIONS: Readonly<Record<string, () => string>> = {
  'example file': exampleFile,
  'configuration keys': configKeys,
  'field types at a glance': fieldTypesAtAGlance,
  'field types': fieldTypes,
  lookups,
  'pagination styles': paginationStyles,
  dialects,
  problems,
  limits,
  diagnostics,
  commands: commandTables,
  'exit codes': exitCodes,
  'plugin api': pluginApi,
}

const MARKED = /(<!-- generated: (.+) -->\n)[^]*?(<!-- end of generated text -->)/g

/**
 * A page with its generated sections written anew; what stands outside of them is left alone.
 * @throws Error for a mark that names no section
 */
export function writeSections(page: string): string {
  return page.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    const section = SECTIONS[name]
    if (section === undefined)
      throw new Error(`no section is called \`${name}\`; there are ${Object.keys(SECTIONS).join(', ')}`)
    return `${begin}\n${section()}\n\n${end}`
  })
}
