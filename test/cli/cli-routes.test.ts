import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { BOOKS, makeProject, type Project, runInHost } from '../support/cli.js'

let project: Project

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': BOOKS })
})

afterAll(() => project.remove())

const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })

describe('routes', () => {
  test('lists every route in aligned columns, without a footer in a pipe (promise 09)', async () => {
    const { code, stdout, stderr } = await run('routes')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'NAME         METHOD  PATH              SOURCE',
      'book-list    GET     /api/books/       resource book',
      'book-list    POST    /api/books/       resource book',
      'book-detail  GET     /api/books/{id}/  resource book',
      'book-detail  PUT     /api/books/{id}/  resource book',
      'book-detail  PATCH   /api/books/{id}/  resource book',
      'book-detail  DELETE  /api/books/{id}/  resource book',
      '',
    ])
  })

  test('prints one JSON document with --json', async () => {
    const { code, stdout } = await run('routes', '--json', '--method', 'post')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      routes: [{ name: 'book-list', method: 'POST', path: '/api/books/', source: 'resource book' }],
    })
  })

  test.each([
    { args: ['--grep', 'DETAIL'], lines: 5 },
    { args: ['-g', '/books/{id}'], lines: 5 },
    { args: ['--method', 'get'], lines: 3 },
    { args: ['-g', 'list', '--method', 'POST'], lines: 2 },
  ])('prints only the routes that $args selects', async ({ args, lines }) => {
    const { stdout } = await run('routes', ...args)
    expect(stdout.trimEnd().split('\n')).toHaveLength(lines)
  })

  test('exits with 1 and names a similar route when nothing matches', async () => {
    expect(await run('routes', '--grep', 'book-lst')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: no route matches `book-lst`\n  = help: a route with a similar name exists: `book-list`\n',
    })
    expect(await run('routes', '--method', 'psot')).toMatchObject({
      code: 1,
      stderr: 'error: no route matches method `psot`\n  = help: a method with a similar name exists: `POST`\n',
    })
  })

  test('lists the routes of a plugin with their source', async () => {
    const { stdout } = await runInHost(['routes', '--grep', 'plugin', '--json'])
    const { routes } = JSON.parse(stdout) as { routes: readonly { source: string }[] }
    expect(routes.length).toBeGreaterThan(0)
    expect(new Set(routes.map((route) => route.source))).toEqual(new Set(['plugin ./src/snippets/plugin.ts']))
  })
})

test('shows where a plugin registered a handler and what surrounds it (promise 09)', async () => {
  const plugin = `
// TypeScript, so that lines of what was compiled would be others.
interface Book { readonly id: bigint }
import type { Plugin } from 'snippetctl'
const plugin: Plugin = (app) => {
  app.action('book', 'lend', { summary: 'Lend', handle: () => {} })
  app.hooks<Book>('book', { beforeDestroy: () => {} })
  app.compute<Book>('book', 'shelf', ({ id }) => 'shelf ' + String(id))
  app.replace('book', 'list', () => ({ status: 204 }))
}
export default plugin
`
  const shelved = BOOKS.replace('path: /books/', 'path: /books/\n    computed: { shelf: { from: [id], type: string } }')
  const library = await makeProject({ 'resources.yaml': `${shelved}plugins: [./library.ts]\n`, 'library.ts': plugin })
  const table = await runInHost(['routes'], { cwd: library.folder })
  const json = await runInHost(['routes', '--json', '--method', 'DELETE'], { cwd: library.folder })
  await library.remove()
  const lines = table.stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, '  '))
  expect(lines).toEqual(
    expect.arrayContaining([
      'book-list  GET  /api/books/  plugin ./library.ts:9, computed ./library.ts:8',
      'book-list  POST  /api/books/  resource book, hooks ./library.ts:7, computed ./library.ts:8',
      'book-lend  POST  /api/books/{id}/lend/  plugin ./library.ts:6',
    ]),
  )
  expect(JSON.parse(json.stdout)).toMatchObject({
    routes: [{ name: 'book-detail', source: 'resource book', hooks: [{ file: 'library.ts', line: 7 }] }],
  })
})

describe('url', () => {
  test.each([
    { args: ['book-list'], path: '/api/books/' },
    { args: ['book-detail', 'id=5'], path: '/api/books/5/' },
    { args: ['book-detail', 'id=9223372036854775807'], path: '/api/books/9223372036854775807/' },
  ])('prints only $path for $args (promise 22)', async ({ args, path }) => {
    expect(await run('url', ...args)).toEqual({ code: 0, stdout: `${path}\n`, stderr: '' })
  })

  test('prints one JSON document with --json', async () => {
    const { stdout } = await run('url', 'book-detail', 'id=5', '--json')
    expect(JSON.parse(stdout)).toEqual({ schemaVersion: 1, name: 'book-detail', path: '/api/books/5/' })
  })

  test('prints the path of a hand-written route, too', async () => {
    const { stdout } = await runInHost(['url', 'snippet-detail', 'id=5'])
    expect(stdout).toBe('/api/snippets-viewset/5/\n')
  })

  test.each([{ command: 'url' }, { command: 'explain' }])(
    'names the configuration in the usage of $command',
    async ({ command }) => {
      await project.write('my books.yaml', BOOKS)
      const { stderr } = await run(command, 'book-detail', '--config', 'my books.yaml')
      expect(stderr).toContain(`= help: snippetctl ${command} --config 'my books.yaml' book-detail id=<bigint>\n`)
    },
  )

  test.each([
    { args: ['book-detial', 'id=5'], code: 1, message: 'no route is named `book-detial`', help: '`book-detail`' },
    { args: ['xyz'], code: 1, message: 'no route is named `xyz`', help: 'book-list, book-detail' },
    { args: ['book-detail'], code: 2, message: '`book-detail` needs a value for `id`', help: 'id=<bigint>' },
    {
      args: ['book-detail', 'id=5', 'x=1'],
      code: 2,
      message: '`book-detail` has no parameter `x`',
      help: 'id=<bigint>',
    },
    {
      args: ['book-list', 'id=5'],
      code: 2,
      message: '`book-list` has no parameter `id`',
      help: 'snippetctl url book-list',
    },
    { args: ['book-detail', 'id=05'], code: 2, message: '`05` is not a valid bigint', help: 'id=<bigint>' },
    { args: ['book-detail', 'id='], code: 2, message: '`` is not a valid bigint', help: 'id=<bigint>' },
    { args: ['book-detail', 'id=9223372036854775808'], code: 2, message: 'is not a valid bigint', help: 'id=<bigint>' },
    { args: ['book-detail', '5'], code: 2, message: '`5` is not a parameter', help: 'key=value' },
    { args: ['book-detail', 'id=5', 'id=6'], code: 2, message: 'the parameter `id` is given twice', help: '' },
  ])('rejects $args with $code and prints nothing on stdout', async ({ args, code, message, help }) => {
    const outcome = await run('url', ...args)
    expect(outcome).toMatchObject({ code, stdout: '' })
    expect(outcome.stderr).toMatch(/^error: /)
    expect(outcome.stderr).toContain(message)
    expect(outcome.stderr).toContain(help)
  })
})
