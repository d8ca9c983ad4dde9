import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import ts from 'typescript'

/** The text of every source file under its path from the top of the checkout, with forward slashes. */
type Tree = ReadonlyMap<string, string>

interface Import {
  readonly from: string
  /** A path in the tree, or the name of a package. */
  readonly to: string
  readonly local: boolean
}

/**
 * What a feature of a resource is written with: the parts of a configuration that say what is declared, and how to report a mistake. The
 * rest of `config/` and `resource/` goes through the features, to parse their keys and to read their parameters.
 */
const DECLARED: readonly string[] = [
  'src/config/model-spec.ts',
  'src/config/access-spec.ts',
  'src/config/core-spec.ts',
  'src/config/derived-field.ts',
  'src/config/words.ts',
  'src/config/diagnostic.ts',
  'src/config/diagnostic-codes.ts',
  'src/config/warning-codes.ts',
  'src/config/indexes/coverage.ts',
  'src/config/yaml/',
  'src/config/schema/access.ts',
  'src/config/schema/parts.ts',
  'src/config/schema/yaml-shape.ts',
  'src/config/parse/report.ts',
  'src/config/parse/access-rules.ts',
  'src/config/parse/auth-draft.ts',
  'src/config/parse/rejection.ts',
  'src/config/parse/drafts.ts',
  'src/config/parse/resource-drafts.ts',
  'src/config/parse/field-names.ts',
  'src/config/parse/link-size.ts',
  'src/resource/field-schema.ts',
  'src/resource/query.ts',
]

/** Imports run from a later line to an earlier one. Names on one line do not know each other, but the declared parts do. */
const LAYERS: readonly (readonly string[])[] = [
  ['src/foundation/'],
  ['src/fields/'],
  ['src/lookups/'],
  ['src/pagination/'],
  ['src/dialects/'],
  DECLARED,
  ['src/features/'],
  ['src/config/'],
  ['src/resource/'],
  ['src/db/', 'src/access/'],
  ['src/auth/'],
  ['src/migrations/', 'src/data/', 'src/http/'],
  ['src/settings.ts', 'src/plugins/', 'src/health/', 'src/explore/', 'src/openapi/', 'src/types/'],
  ['src/application.ts'],
  ['src/load.ts', 'src/service.ts'],
  ['src/index.ts', 'src/internal.ts', 'src/testing.ts'],
  ['cli/', 'src/snippets/'],
]

/** The files behind the names that `package.json` exports. */
const FACES: Readonly<Record<string, string>> = {
  snippetctl: 'src/index.ts',
  'snippetctl/testing': 'src/testing.ts',
}

/** Where each package may be imported. A package that is not in the table has no home. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@opentelemetry/api': ['src/health/'],
  '@electric-sql/pglite': ['src/db/'],
  ajv: ['src/config/schema/ajv.ts'],
  commander: ['cli/'],
  esbuild: ['src/plugins/'],
  express: ['src/http/'],
  'fastest-levenshtein': ['src/config/'],
  jose: ['src/auth/'],
  'highlight.js': ['src/snippets/'],
  knex: ['src/db/'],
  'postgres-array': ['src/fields/'],
  objection: ['src/db/'],
  pg: ['src/db/'],
  'pg-protocol': ['src/db/'],
  picocolors: ['cli/'],
  'prom-client': ['src/health/'],
  yaml: ['src/config/yaml/document.ts'],
}

const MOST_LINES = 300

/** Files of one folder. The lists of kinds may be longer: they have one file for each kind. */
const MOST_FILES = 17
const KINDS = ['src/fields/types', 'src/lookups', 'src/features', 'cli/commands']

/** Lines of the longest function, including its inner functions. Lower this when that function becomes shorter. */
const MOST_FUNCTION_LINES = 139

/** Text that a file may not contain, and where. */
const FORBIDDEN = [
  { what: 'calls process.exit', pattern: /\bprocess\.exit\s*\(/, where: isUnder('src/') },
  { what: 'writes to the console', pattern: /\bconsole\s*\./, where: isUnder('src/') },
  {
    what: 'makes a database of another, instead of leaving it to wrap.ts, which passes on every argument',
    pattern: /\bas Database\b|\bwhenPending: \w+\.whenPending\b/,
    where: (path: string) => path !== 'src/db/wrap.ts',
  },
  {
    what: 'speaks of snippets',
    pattern: /snippet(?!ctl)/i,
    where: (path: string) => path.startsWith('src/') && !path.startsWith('src/snippets/'),
  },
  {
    what: "imports the framework by a path instead of 'snippetctl'",
    pattern: /from '\.\.\//,
    where: isUnder('src/snippets/'),
  },
] as const

function isUnder(place: string): (path: string) => boolean {
  return (path) => path === place || (place.endsWith('/') && path.startsWith(place))
}

/** Everything in the tree that breaks a rule, one sentence each; none when the tree is sound. */
function findFaults(tree: Tree): string[] {
  const imports = [...tree].flatMap(([from, text]) => importsOf(from, text, tree))
  const faults = [
    ...imports.filter((one) => one.local).flatMap((one) => layerFault(one)),
    ...imports.filter((one) => !one.local).flatMap((one) => homeFault(one)),
    ...cyclesIn(imports.filter((one) => one.local)),
    ...[...tree].flatMap(([path, text]) => textFaults(path, text)),
    ...fullFolders(tree),
  ]
  return [...new Set(faults)]
}

/** Import and export lines, type imports and `import()` included; node's own modules are left out. */
function importsOf(from: string, text: string, tree: Tree): Import[] {
  const written = ts.preProcessFile(text, true, true).importedFiles.map((file) => file.fileName)
  return written
    .filter((name) => !name.startsWith('node:'))
    .map((name) => {
      const face = FACES[name]
      if (face !== undefined) return { from, to: face, local: true }
      if (!name.startsWith('.')) return { from, to: packageOf(name), local: false }
      const path = posix.join(posix.dirname(from), name)
      const source = path.replace(/\.js$/, '.ts')
      return { from, to: tree.has(source) ? source : path, local: true }
    })
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function placeOf(path: string): { rank: number; name: string } | undefined {
  for (const [rank, names] of LAYERS.entries()) {
    const name = names.find((one) => isUnder(one)(path))
    if (name !== undefined) return { rank, name }
  }
  return undefined
}

function layerFault({ from, to }: Import): string[] {
  const [here, there] = [placeOf(from), placeOf(to)]
  if (here === undefined) return [`${from} is in no layer`]
  if (there === undefined) return [`${from} imports ${to}, which is in no layer`]
  const isOnePart = DECLARED.includes(here.name) && DECLARED.includes(there.name)
  const sound = there.rank < here.rank || here.name === there.name || isOnePart
  return sound ? [] : [`${from} imports ${to}, against the layering`]
}

function homeFault({ from, to }: Import): string[] {
  const homes = HOMES[to] ?? []
  if (homes.some((home) => isUnder(home)(from))) return []
  return [
    `${from} imports the package ${to}; ${homes.length === 0 ? 'no place is given for it' : `its place is ${homes.join(', ')}`}`,
  ]
}

/** Follows the imports depth first; an import of a file that is still being followed closes a cycle. */
function cyclesIn(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to])
  const done = new Set<string>()
  const follow = (path: string, trail: readonly string[]): string[] => {
    const start = trail.indexOf(path)
    if (start >= 0) return [`imports go in a circle: ${[...trail.slice(start), path].join(' → ')}`]
    if (done.has(path)) return []
    const found = (next.get(path) ?? []).flatMap((to) => follow(to, [...trail, path]))
    done.add(path)
    return found
  }
  return [...next.keys()].flatMap((path) => follow(path, []))
}

function textFaults(path: string, text: string): string[] {
  const lines = text.trimEnd().split('\n')
  const long = lines.length > MOST_LINES ? [`${path} has ${lines.length} lines, more than ${MOST_LINES}`] : []
  const forbidden = FORBIDDEN.filter((rule) => rule.where(path)).flatMap((rule) =>
    lines.flatMap((line, index) => (rule.pattern.test(line) ? [`${path}:${index + 1} ${rule.what}`] : [])),
  )
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  return [...long, ...forbidden, ...longFunctions(path, file), ...functionsOfOtherStyle(path, file)]
}

/** Functions are declared with `function` at the top level, and are arrows inside. Arrows with a named type, methods and generators may be anywhere. */
function functionsOfOtherStyle(path: string, file: ts.SourceFile): string[] {
  const isArrow = ({ type, initializer }: ts.VariableDeclaration) =>
    !type && initializer && ts.isArrowFunction(initializer)
  const arrows = file.statements
    .filter((statement) => ts.isVariableStatement(statement))
    .flatMap(({ declarationList }) => declarationList.declarations.filter(isArrow))
  const inner: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && node.parent !== file && !node.asteriskToken) inner.push(node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  const at = (node: ts.Node) => `${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`
  return [
    ...arrows.map((node) => `${at(node)} has an arrow at the top level, where functions are declared`),
    ...inner.map((node) => `${at(node)} declares a function inside of another, where functions are arrows`),
  ]
}

function fullFolders(tree: Tree): string[] {
  const counts = new Map<string, number>()
  for (const path of tree.keys()) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts]
    .filter(([folder, count]) => count > MOST_FILES && !KINDS.includes(folder))
    .map(([folder, count]) => `${folder} has ${count} files, more than ${MOST_FILES}`)
}

function longFunctions(path: string, file: ts.SourceFile): string[] {
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line
  const visit = (node: ts.Node): string[] => {
    const start = lineAt(node.getStart(file))
    const lines = ts.isFunctionLike(node) ? lineAt(node.end) - start + 1 : 0
    const fault = `${path}:${start + 1} has a function of ${lines} lines, more than ${MOST_FUNCTION_LINES}`
    const inner: string[] = []
    ts.forEachChild(node, (child) => void inner.push(...visit(child)))
    return lines > MOST_FUNCTION_LINES ? [fault, ...inner] : inner
  }
  return visit(file)
}

function readTree(...folders: readonly string[]): Tree {
  const paths = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
  return new Map(paths.map((path) => [path.split(sep).join('/'), readFileSync(path, 'utf8')]))
}

describe('the sources', () => {
  test('keep to the layering, the allowed packages and the words of each layer', () => {
    const tree = readTree('src', 'cli')
    expect(tree.size).toBeGreaterThan(40)
    expect(findFaults(tree)).toEqual([])
  })
})

describe('the rules', () => {
  const sound = {
    'src/foundation/json.ts': 'export type Json = string\n',
    'src/foundation/problem.ts': "import type { Json } from './json.js'\nexport const at: Json = ''\n",
    'src/db/store.ts':
      "import { readFile } from 'node:fs/promises'\nimport knex from 'knex'\nimport { at } from '../foundation/problem.js'\n",
    'src/index.ts': "export { at } from './foundation/problem.js'\n",
    'src/snippets/plugin.ts': "import { at } from 'snippetctl'\n// A snippet.\n",
    'src/internal.ts': "export { at } from './foundation/problem.js'\n",
    'cli/main.ts': "import { at } from '../src/internal.js'\nconsole.log(at)\nprocess.exit(1)\n",
  }

  const broken: readonly (readonly [rule: string, path: string, text: string, fault: string])[] = [
    [
      'an import of a later layer',
      'src/fields/a.ts',
      "import { a } from '../db/store.js'",
      'src/fields/a.ts imports src/db/store.ts, against the layering',
    ],
    [
      'a type import of a later layer',
      'src/fields/a.ts',
      "import type { A } from '../http/a.js'",
      'src/fields/a.ts imports src/http/a.js, against the layering',
    ],
    [
      'an inline type import',
      'src/fields/a.ts',
      "export type A = import('../db/store.js').A",
      'src/fields/a.ts imports src/db/store.ts, against the layering',
    ],
    [
      'an import() of a later layer',
      'src/fields/a.ts',
      "export const a: unknown = import('../db/store.js')",
      'src/fields/a.ts imports src/db/store.ts, against the layering',
    ],
    [
      'an export of a later layer',
      'src/fields/a.ts',
      "export * from '../db/store.js'",
      'src/fields/a.ts imports src/db/store.ts, against the layering',
    ],
    [
      'an import on one level',
      'src/http/a.ts',
      "import '../migrations/a.js'",
      'src/http/a.ts imports src/migrations/a.js, against the layering',
    ],
    [
      'the public face imported from inside',
      'src/http/a.ts',
      "import { at } from 'snippetctl'",
      'src/http/a.ts imports src/index.ts, against the layering',
    ],
    [
      'a file outside the layers',
      'src/utils.ts',
      "import { at } from './foundation/problem.js'",
      'src/utils.ts is in no layer',
    ],
    [
      'a package away from its home',
      'src/http/a.ts',
      "import type { Knex } from 'knex'",
      'src/http/a.ts imports the package knex; its place is src/db/',
    ],
    [
      'a path inside a package',
      'src/http/a.ts',
      "import a from '@electric-sql/pglite/live'",
      'src/http/a.ts imports the package @electric-sql/pglite; its place is src/db/',
    ],
    [
      'a package nobody gave a home',
      'src/db/a.ts',
      "import 'left-pad'",
      'src/db/a.ts imports the package left-pad; no place is given for it',
    ],
    [
      'a circle',
      'src/foundation/json.ts',
      "import { at } from './problem.js'",
      'imports go in a circle: src/foundation/json.ts → src/foundation/problem.ts → src/foundation/json.ts',
    ],
    ['a word of the application', 'src/db/a.ts', '/** Snippets. */', 'src/db/a.ts:1 speaks of snippets'],
    ['an exit', 'src/db/a.ts', 'process.exit(1)', 'src/db/a.ts:1 calls process.exit'],
    [
      'a database made of another by hand',
      'cli/a.ts',
      'Object.create(given) as Database',
      'cli/a.ts:1 makes a database of another, instead of leaving it to wrap.ts, which passes on every argument',
    ],
    [
      'an application that reaches into the framework',
      'src/snippets/a.ts',
      "import { at } from '../foundation/problem.js'",
      "src/snippets/a.ts:1 imports the framework by a path instead of 'snippetctl'",
    ],
    ['console output', 'src/db/a.ts', "console.error('no')", 'src/db/a.ts:1 writes to the console'],
    [
      'a file that is too long',
      'cli/a.ts',
      'export {}\n'.repeat(MOST_LINES + 1),
      'cli/a.ts has 301 lines, more than 300',
    ],
    [
      'a function that is too long',
      'cli/a.ts',
      `export const a = {}\nexport function b() {\n${'  b()\n'.repeat(MOST_FUNCTION_LINES - 1)}}\n`,
      `cli/a.ts:2 has a function of ${MOST_FUNCTION_LINES + 1} lines, more than ${MOST_FUNCTION_LINES}`,
    ],
    [
      'an arrow at the top level',
      'cli/a.ts',
      'export const a: () => void = () => {}\nexport const b = () => {}\n',
      'cli/a.ts:2 has an arrow at the top level, where functions are declared',
    ],
    [
      'a function declared inside of another',
      'cli/a.ts',
      'export function a() {\n  function* b() {}\n  function c() {}\n}\n',
      'cli/a.ts:3 declares a function inside of another, where functions are arrows',
    ],
  ]

  test('accept a valid tree', () => {
    expect(findFaults(new Map(Object.entries(sound)))).toEqual([])
  })

  test('reject a folder with too many files', () => {
    const files = Array.from(
      { length: MOST_FILES + 1 },
      (_, number) => [`src/http/a/${number}.ts`, 'export {}\n'] as const,
    )
    expect(findFaults(new Map([...Object.entries(sound), ...files]))).toEqual([
      `src/http/a has ${MOST_FILES + 1} files, more than ${MOST_FILES}`,
    ])
  })

  test.each(broken)('reject %s', (_rule, path, text, fault) => {
    expect(findFaults(new Map(Object.entries({ ...sound, [path]: text })))).toEqual([fault])
  })
})
