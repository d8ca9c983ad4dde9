import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { codeBlock } from './markdown.js'

/** A name that plugins or tests can import, with its doc comment. */
export interface PublicName {
  readonly name: string
  /** The module that exports it, as it is imported. */
  readonly from: string
  readonly isType: boolean
  /** Empty where there is no doc comment. */
  readonly about: string
  /** Empty where the doc comment has no `@example`. */
  readonly example: string
}

const MODULES: readonly (readonly [from: string, file: string])[] = [
  ['snippetctl', 'src/index.ts'],
  ['snippetctl/testing', 'src/testing.ts'],
]

/** Everything that the package exports to plugins and tests, in the order of the source files. */
export function publicNames(): readonly PublicName[] {
  return MODULES.flatMap(([from, file]) =>
    statementsOf(file).flatMap((statement) => {
      const documentation = readDocumentation(statement)
      return exportsOf(statement, file).map((each) => ({ ...each, from, ...documentation }))
    }),
  )
}

/** The section of docs/plugin-api.md: a heading for each name. */
export function pluginApi(): string {
  const names = publicNames()
  return MODULES.map(([from]) => {
    const own = names.filter((each) => each.from === from)
    return [`## ${from}`, ...own.map((each) => renderName(each, names))].join('\n\n')
  }).join('\n\n')
}

function renderName({ name, about, example }: PublicName, all: readonly PublicName[]): string {
  return `### ${name}\n\n${about}\n\n${codeBlock('ts', withImports(example, all))}`
}

/** An example with the import lines for the names that it uses. */
export function withImports(example: string, all: readonly PublicName[]): string {
  const used = all.filter(({ name }) => new RegExp(`(?<![\\w.'])${name}\\b(?!['?:])`).test(example))
  const lines = MODULES.flatMap(([from]) => {
    const own = used.filter((each) => each.from === from)
    if (own.length === 0) return []
    const onlyTypes = own.every(({ isType }) => isType)
    const list = own.map(({ name, isType }) => (isType && !onlyTypes ? `type ${name}` : name)).join(', ')
    return [`import ${onlyTypes ? 'type ' : ''}{ ${list} } from '${from}'`]
  })
  return [...lines, '', example].join('\n')
}

type Exported = Pick<PublicName, 'name' | 'isType'>

function statementsOf(file: string): readonly ts.Statement[] {
  return [...ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true).statements]
}

/** @throws Error for a kind of export that has no documentation of its own */
function exportsOf(statement: ts.Statement, file: string): readonly Exported[] {
  if (ts.isExportDeclaration(statement)) return namesOf(statement, file)
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
  if (isType || ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))
    return [{ name: statement.name?.text ?? 'default', isType }]
  throw new Error(`${file} exports ${statement.getText().slice(0, 60)}; export a function, a class or a type`)
}

function namesOf(
  { exportClause, moduleSpecifier, isTypeOnly }: ts.ExportDeclaration,
  file: string,
): readonly Exported[] {
  if (exportClause && ts.isNamedExports(exportClause))
    return exportClause.elements.map((each) => ({ name: each.name.text, isType: isTypeOnly || each.isTypeOnly }))
  if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) throw new Error(`${file} has an export without names`)
  const source = join(dirname(file), moduleSpecifier.text.replace(/\.js$/, '.ts'))
  return statementsOf(source).flatMap((statement) => exportsOf(statement, source))
}

/** The last doc comment in front of a statement: the first statement of a file also has that of the file. */
function readDocumentation(statement: ts.Statement): Pick<PublicName, 'about' | 'example'> {
  const comment = ts
    .getJSDocCommentsAndTags(statement)
    .filter((each) => ts.isJSDoc(each))
    .at(-1)
  const example = comment?.tags?.find(({ tagName }) => tagName.text === 'example')
  return { about: textOf(comment?.comment).replaceAll('\n', ' '), example: textOf(example?.comment) }
}

const textOf = (comment: Parameters<typeof ts.getTextOfJSDocComment>[0]): string =>
  ts.getTextOfJSDocComment(comment) ?? ''
