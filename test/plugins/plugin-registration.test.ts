import { resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import type { PluginApp } from '../../src/index.js'
import { type Diagnostic, loadApplication } from '../../src/internal.js'
import { makeProject, PLUGGED } from '../support/cli.js'

/** What is wrong with an application whose one plugin is this function. */
async function diagnosticsOf(plugin: (app: PluginApp) => unknown): Promise<readonly Diagnostic[]> {
  const project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': '' })
  const loaded = await loadApplication({
    file: resolve(project.folder, 'resources.yaml'),
    env: {},
    importModule: async () => ({ default: plugin }),
  })
  await project.remove()
  return loaded.ok ? [] : loaded.diagnostics
}

async function errorsOf(plugin: (app: PluginApp) => unknown): Promise<readonly string[]> {
  return (await diagnosticsOf(plugin)).map(({ code, message }) => `${code} ${message}`)
}

const handle = () => ({ status: 200, body: {} })
/** What no compiler holds. */
const anything = (value: unknown) => value as never

describe('a plugin is rejected by name', () => {
  test.each<[string, (app: PluginApp) => unknown, string]>([
    ['an async function', async (app) => app.route('GET', '/a/', 'a', handle), 'its function returned a promise'],
    ['an async function that throws', () => Promise.reject(new Error('later')), 'its function returned a promise'],
    ['a thenable', () => ({ then: () => {} }), 'its function returned a promise'],
    [
      'a route without a handler',
      (app) => app.route('GET', '/a/', 'a', anything(undefined)),
      'the handler of the route `a` is undefined; it must be a function',
    ],
    [
      'an object instead of a handler',
      (app) => app.route('GET', '/a/', 'a', anything({ status: 200 })),
      'the handler of the route `a` is { status: 200 }; it must be a function',
    ],
    [
      'onClose without a function',
      (app) => app.onClose(anything('bye')),
      "the function of onClose() is 'bye'; it must be a function",
    ],
    [
      'an unknown option of a route',
      (app) => app.route('POST', '/a/', 'a', handle, undefined, anything({ crossite: true })),
      'the options of the route `a` have the member `crossite`; a member with a similar name exists: `crossSite`',
    ],
    [
      'an option of a mount that is not a boolean',
      (app) => app.mount('/a/', handle, { crossSite: anything('yes') }),
      "the options of mount('/a/'): `crossSite` is 'yes'; it must be true or false",
    ],
    [
      'a route without a name',
      (app) => app.route('GET', '/a/', anything(undefined), handle),
      "the name of the route 'GET' '/a/' is undefined; it must be a text",
    ],
    ['an empty name of a route', (app) => app.route('GET', '/a/', '', handle), "is ''; it must be a text"],
    [
      'a route without a path',
      (app) => app.route('GET', anything(undefined), 'a', handle),
      'the path of the route `a` is undefined; it must start and end with a slash',
    ],
    [
      'an action without a summary',
      (app) => app.action('book', 'lend', anything({ handle })),
      "the action 'lend' of `book`: `summary` is undefined; it must be a text",
    ],
    [
      'an action with an unknown method',
      (app) => app.action('book', 'lend', { summary: 'a', method: anything('post'), handle }),
      "`method` is 'post'; it must be one of GET, POST",
    ],
    [
      'an action with an unknown member',
      (app) => app.action('book', 'lend', anything({ summary: 'a', ouput: {}, handle })),
      'has the member `ouput`; a member with a similar name exists: `output`',
    ],
    [
      'an action whose name is not a valid path',
      (app) => app.action('book', 'Lend It', { summary: 'a', handle }),
      "the action 'Lend It' of `book` needs a name of lower-case letters",
    ],
    [
      'an action with invalid input',
      (app) => app.action('book', 'lend', { summary: 'a', input: { days: { type: 'integr' } }, handle }),
      'the input of the action `book-lend`: ',
    ],
    [
      'an action whose input has several mistakes',
      (app) =>
        app.action('book', 'lend', {
          summary: 'a',
          input: { days: { type: 'integr' }, reader: { type: 'strnig' } },
          handle,
        }),
      '`strnig` is not a field type',
    ],
    [
      'an action whose input has options of a column',
      (app) => app.action('book', 'lend', { summary: 'a', input: { days: { type: 'integer', unique: true } }, handle }),
      'the field `days` has an option that means nothing outside of a table',
    ],
    [
      'an action of the collection that returns a record',
      (app) => app.action('book', 'lend', { summary: 'a', on: 'collection', output: 'record', handle }),
      'the action `book-lend` runs on the collection',
    ],
    [
      'a replacement of an unknown operation',
      (app) => app.replace('book', anything('delete'), handle),
      'the resource `book` has no operation `delete` to replace',
    ],
    [
      'a replacement that is not a function',
      (app) => app.replace('book', 'list', anything({})),
      'the replacement of `list` of `book` is {}; it must be a function',
    ],
    ['hooks of an unknown resource', (app) => app.hooks('bok', {}), 'no resource is named `bok`'],
    [
      'hooks that are not an object',
      (app) => app.hooks('book', anything(null)),
      'the hooks of `book` are null; they must be an object',
    ],
    [
      'an unknown hook',
      (app) => app.hooks('book', anything({ beforeCraete: handle })),
      'the hooks of `book` have the member `beforeCraete`; a hook with a similar name exists: `beforeCreate`',
    ],
    [
      'a hook that is not a function',
      (app) => app.hooks('book', { afterCommit: anything('log') }),
      "the hooks of `book`: `afterCommit` is 'log'; it must be a function",
    ],
    ['a path that does not start with a slash', (app) => app.route('GET', 'a/', 'a', handle), "is 'a/'; it must start"],
    [
      'a path that does not end with a slash',
      (app) => app.route('GET', '/a', 'a', handle),
      "is '/a'; it must start and end",
    ],
    ['a double slash', (app) => app.route('GET', '//', 'a', handle), "is '//'; it must start"],
    ['a double slash inside', (app) => app.route('GET', '/a//b/', 'a', handle), "is '/a//b/'; it must start"],
    ['a dot', (app) => app.route('GET', '/./', 'a', handle), "is '/./'; it must start"],
    ['one dot', (app) => app.use('/./', handle), "the path of use() is '/./'; it must start"],
    ['two dots', (app) => app.mount('/a/../', () => {}), "the path of mount() is '/a/../'; it must start"],
    [
      'a mount without a listener',
      (app) => app.mount('/a/', anything(null)),
      'the listener mounted at /a/ is null; it must be a function',
    ],
    [
      'a problem renderer that is not a function',
      (app) => app.problems('/a/', anything({})),
      'the renderer of problems at /a/ is {}; it must be a function',
    ],
    [
      'an unknown method',
      (app) => app.route(anything('FETCH'), '/a/', 'a', handle),
      'the route `a` has the method FETCH',
    ],
    [
      'a setting without a name',
      (app) => app.setting(anything(undefined), {}, 1),
      'the name of a setting is undefined; it must be a text',
    ],
    [
      'an invalid default',
      (app) => app.setting('size', { type: 'integer', minimum: 1 }, 0),
      'the default of the setting `size` is 0: by its own schema {"type":"integer","minimum":1} it must be >= 1',
    ],
    ['an invalid schema', (app) => app.setting('size', { type: 'intger' }, 0), 'schema is invalid'],
    ['an unknown resource', (app) => app.resource('bok'), 'no resource is named `bok`'],
    [
      'a middleware that is not a function',
      (app) => app.use(anything({ handle })),
      'the first argument of use() is { handle: [Function: handle] }; it must be a middleware, a path, or a resource',
    ],
    [
      'a path with a middleware that is not a function',
      (app) => app.use('/books/', anything(undefined)),
      "the middleware of use('/books/') is undefined; it must be a function",
    ],
    ['a middleware for a path without a slash', (app) => app.use('/books', handle), 'the path of use() is'],
    [
      'a middleware for an unknown resource',
      (app) => app.use({ resource: 'bok' }, handle),
      'no resource is named `bok`',
    ],
    ['a middleware for a path without routes', (app) => app.use('/boks/', handle), 'boks/, where no route is'],
    [
      'a middleware with an unknown problem',
      (app) => app.use(handle, { problems: [anything('too_many_request')] }),
      "names 'too_many_request'; a problem type with a similar name exists: `too_many_requests`",
    ],
    [
      'a middleware with an unknown option',
      (app) => app.use(handle, anything({ problem: [] })),
      'the options of use() have the member `problem`',
    ],
    ['a value without a name', (app) => app.value(anything(undefined)), 'the name of a value is undefined'],
  ])('for %s', async (_what, plugin, says) => {
    const errors = await errorsOf(plugin)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatch(/^SC353 the plugin `\.\/plugin\.mjs`: /)
    expect(errors[0]).toContain(says)
  })

  test('for registering after its function has returned', async () => {
    let late = (): void => {}
    const errors = await errorsOf((app) => {
      late = () => app.route('GET', '/a/', 'a', handle)
    })
    expect(errors).toEqual([])
    expect(late).toThrow(
      /^the plugin `\.\/plugin\.mjs` called route\(\) after its function had returned; register everything/,
    )
  })
})

test.each<[string, (app: PluginApp) => unknown, string, string]>([
  [
    'a middleware for a path without routes',
    (app) => app.use('/boks/', handle),
    'SC353',
    'a path with a similar name exists: `/api/books/`',
  ],
  [
    'a function that throws',
    () => {
      throw new Error('no')
    },
    'SC353',
    'correct the plugin, or remove it from `plugins`',
  ],
  [
    'a reference to no schema',
    (app) =>
      app.route('GET', '/a/', 'a', handle, {
        summary: 'A',
        responses: { 200: { description: 'A', schema: { $ref: '#/components/schemas/A' } } },
      }),
    'SC353',
    'write the schema out, or refer to one under `#/components/schemas`',
  ],
  [
    'two routes of one path',
    (app) => {
      app.route('GET', '/a/', 'a', handle)
      app.route('GET', '/a/', 'b', handle)
    },
    'SC354',
    'change the path of one of them',
  ],
  [
    'two paths of one name',
    (app) => {
      app.route('GET', '/a/', 'a', handle)
      app.route('GET', '/b/', 'a', handle)
    },
    'SC354',
    'give one of the routes another name',
  ],
  [
    'a repeated parameter',
    (app) => app.route('GET', '/{a}/{a}/', 'a', handle),
    'SC354',
    'give each parameter a name of its own',
  ],
])('the diagnostic for %s says what to change', async (_what, plugin, code, help) => {
  expect(await diagnosticsOf(plugin)).toEqual([expect.objectContaining({ code, help: [help] })])
})

test.each(['/', '/a/', '/a/{id}/', '/.a/b..c/'])('a plugin may register the path %s', async (path) => {
  expect(await errorsOf((app) => app.route('GET', path, 'a', handle))).toEqual([])
})
