import { accessMatrix, type AppSpec, type ConfigDocument, type MatrixGrant } from '../../../src/internal.js'
import type { Output } from '../../output.js'

/** Returns the line of the value at a path of the configuration. */
export type LineOf = (path: readonly (string | number)[]) => number

export function linesIn(document: ConfigDocument): LineOf {
  return (path) => document.locate(path, 'value').start.line
}

/** A route outside of resources, its callers, and the line of its entry in `auth.routes`, if any. */
export interface RouteAccess {
  readonly name: string
  readonly to: readonly string[]
  readonly line: number | undefined
}

/** The matrix as one JSON value, with an entry for each operation of each grant. */
export function matrixJson(spec: AppSpec, lineOf: LineOf, routes: readonly RouteAccess[]) {
  const matrix = accessMatrix(spec)
  return {
    schemaVersion: 1,
    grants: matrix.flatMap(({ name, path: at, grants }) =>
      grants.flatMap(({ to, may, path, ...limits }) =>
        may.map((operation) => ({ resource: name, path: at, to, operation, ...limits, line: lineOf(path) })),
      ),
    ),
    denied: matrix.flatMap(({ name, nobody }) => nobody.map((operation) => ({ resource: name, operation }))),
    routes,
  }
}

/** Prints the grants of each resource, grouped by their `to`. */
export function printMatrix(out: Output, spec: AppSpec, lineOf: LineOf, routes: readonly RouteAccess[]): void {
  const print = (text: string, indent: number) => out.line(`${' '.repeat(indent)}${text}`)
  for (const { name, path, grants, nobody } of accessMatrix(spec)) {
    out.line(`${out.colors.bold(name)}  ${path}`)
    for (const to of new Set(grants.map((grant) => grant.to))) {
      out.line(`  ${to}`)
      for (const grant of grants.filter((each) => each.to === to)) {
        print(`${grant.may.join(', ')}  line ${lineOf(grant.path)}`, 4)
        for (const limit of limitsOf(grant)) print(limit, 6)
      }
    }
    if (nobody.length > 0) print(`nobody: ${nobody.join(', ')}`, 2)
  }
  if (routes.length > 0) out.line(out.colors.bold('other routes'))
  for (const { name, to, line } of routes)
    print(`${name}: ${to.join(', ') || 'nobody'}${line === undefined ? '' : `  line ${line}`}`, 2)
}

/** Renders each limit of a grant as a line. */
function limitsOf({ rows, becomes, fields, set }: MatrixGrant): readonly string[] {
  return [
    ...(rows === undefined ? [] : [`rows     ${rows}`]),
    ...(becomes === undefined ? [] : [`becomes  ${becomes}`]),
    ...(fields === 'all' ? [] : [`fields   ${fields}`]),
    ...(set.length === 0 ? [] : [`set      ${set.join(', ')}`]),
  ]
}
