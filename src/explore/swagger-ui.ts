import { createRequire } from 'node:module'

export const PACKAGE = 'swagger-ui-dist'

/** Returns the path of the `package.json` of Swagger UI that is installed for a configuration; undefined if none is. */
export function findManifest(file: string): string | undefined {
  try {
    return createRequire(file).resolve(`${PACKAGE}/package.json`)
  } catch {
    return undefined
  }
}

/** Whether Swagger UI is installed for a configuration. */
export function hasSwaggerUi(file: string): boolean {
  return findManifest(file) !== undefined
}
