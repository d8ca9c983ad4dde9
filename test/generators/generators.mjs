import { join } from 'node:path'

/**
 * The programs that make clients of our documents. orval 8 asks for Node 22.18, and hey-api does from 0.96 on; the former runs on Node 20 all
 * the same, of the latter this is the last version that promises to.
 * `versions` are those of OpenAPI that it reads, both when left out; `client` is the folder of the program that uses what is generated, `command` what makes it, given the document and where it goes.
 */
export const GENERATORS = [
  {
    name: 'openapi-typescript',
    client: 'openapi-typescript',
    command: (modules, document, out) => [
      join(modules, 'openapi-typescript/bin/cli.js'),
      document,
      '--default-non-nullable=false',
      '-o',
      `${out}.ts`,
    ],
  },
  {
    name: '@hey-api/openapi-ts',
    client: 'hey-api',
    command: (modules, document, out) => [
      join(modules, '@hey-api/openapi-ts/bin/run.js'),
      ...['-i', document, '-o', out, '--plugins', '@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
    ],
  },
  {
    name: 'orval 7',
    client: 'orval',
    command: (modules, document, out) => [join(modules, 'orval/dist/bin/orval.js'), ...orval(document, out)],
  },
  {
    name: 'orval 8',
    client: 'orval',
    command: (modules, document, out) => [join(modules, 'orval-8/dist/bin/orval.mjs'), ...orval(document, out)],
  },
  {
    name: 'openapi-typescript-codegen',
    client: 'openapi-typescript-codegen',
    versions: ['3.0'],
    command: (modules, document, out) => [
      join(modules, 'openapi-typescript-codegen/bin/index.js'),
      ...['--input', document, '--output', out, '--useOptions', '--useUnionTypes'],
    ],
  },
  {
    name: 'swagger-typescript-api',
    client: 'swagger-typescript-api',
    versions: ['3.0'],
    command: (modules, document, out) => [
      join(modules, 'swagger-typescript-api/dist/cli.mjs'),
      ...['generate', '-p', document, '-o', out, '-n', 'api.ts'],
    ],
  },
]

function orval(document, out) {
  return ['--input', document, '--output', `${out}.ts`, '--client', 'fetch']
}
