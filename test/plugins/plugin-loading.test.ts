import { mkdir, mkdtemp, readdir, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type ImportModule, loadPlugins } from '../../src/plugins/load.js'
import { waitUntil } from '../support/wait-until.js'

let folder: string

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'plugins-')))
})

afterEach(() => rm(folder, { recursive: true }))

type Files = Readonly<Record<string, string>>

const write = async (files: Files): Promise<void> => {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

const load = (paths: readonly string[], importModule?: ImportModule, patience?: number) =>
  loadPlugins({ file: join(folder, 'resources.yaml'), plugins: paths }, importModule, patience)

/** Loads one plugin and gives what it answers when it is called. */
const run = async (path: string): Promise<unknown> => {
  const { plugins, rejections } = await load([path])
  expect(rejections).toEqual([])
  return plugins.map(({ register }) => (register as () => unknown)())[0]
}

const rejectionOf = async (path: string) => {
  const { plugins, rejections } = await load([path])
  expect(plugins).toEqual([])
  return rejections.map(({ message }) => message).join('\n')
}

const compiled = () => readdir(join(folder, '.snippetctl', 'plugins'))

describe('loading a plugin', () => {
  test.each(['plugin.ts', 'plugin.mts', 'plugin.js', 'plugin.mjs'])(
    'loads %s with the files that it imports',
    async (name) => {
      const importer = name.includes('ts')
        ? "import { word } from './sub/word.js'"
        : "import { word } from './sub/plain.mjs'"
      await write({
        [name]: `${importer}\nexport default () => word`,
        'sub/word.ts': "export const word: string = 'typed'",
        'sub/plain.mjs': "export const word = 'plain'",
      })
      expect(await run(`./${name}`)).toBe(name.includes('ts') ? 'typed' : 'plain')
    },
  )

  test.each([{ name: 'a*[b]{c}?' }, { name: 'per%2fcent #1' }])(
    'loads it from a folder named $name',
    async ({ name }) => {
      await write({ [`${name}/plugin.ts`]: "import { word } from './word.js'\nexport default () => word" })
      await write({ [`${name}/word.ts`]: "export const word: string = 'odd'" })
      folder = join(folder, name)
      expect(await run('./plugin.ts')).toBe('odd')
      folder = dirname(folder)
    },
  )

  test('names the folder if Node.js cannot import from it', async () => {
    await write({ 'back\\slash/plugin.ts': 'export default () => 1' })
    folder = join(folder, 'back\\slash')
    expect(await rejectionOf('./plugin.ts')).toBe(
      `no module can be loaded below the folder ${folder}, because its path has a \\`,
    )
    folder = dirname(folder)
  })

  test('loads several, in the order of the configuration', async () => {
    await write({ 'b.ts': 'export default () => "b"', 'a.ts': 'export default () => "a"' })
    const { plugins } = await load(['./b.ts', 'a.ts'])
    expect(plugins.map(({ path }) => path)).toEqual(['./b.ts', 'a.ts'])
  })

  test('loads those of several configurations at once', async () => {
    const names = ['a', 'b', 'c', 'd']
    await write(Object.fromEntries(names.map((name) => [`${name}/plugin.ts`, `export default () => '${name}'`])))
    const loads = names.map((name) =>
      loadPlugins({ file: join(folder, name, 'resources.yaml'), plugins: ['./plugin.ts'] }),
    )
    for (const { plugins, rejections } of await Promise.all(loads))
      expect({ loaded: plugins.length, rejections }).toEqual({ loaded: 1, rejections: [] })
  })

  test('names the compiled form that it imported, also if another process compiled a changed file meanwhile', async () => {
    const waiting = `import { existsSync } from 'node:fs'
      while (!existsSync(${JSON.stringify(join(folder, 'go'))})) await new Promise((resume) => setTimeout(resume, 10))`
    await write({ 'plugin.ts': `${waiting}\nexport default () => 'old'` })
    const first = load(['./plugin.ts'])
    await waitUntil(
      () => compiled().catch(() => []),
      (names) => names.some((name) => name.endsWith('.json')),
    )
    await write({ 'plugin.ts': "export default () => 'new'" })
    const second = await load(['./plugin.ts'])
    await write({ go: '' })
    const names = [...(await first).compiled, ...second.compiled]
    const texts = names.map((name) => readFile(join(folder, '.snippetctl', 'plugins', name), 'utf8'))
    expect(await Promise.all(texts)).toEqual([expect.stringContaining('"old"'), expect.stringContaining('"new"')])
  })

  test('gives it the running instance of the framework', async () => {
    await write({ 'plugin.ts': "import { Problem } from 'snippetctl'\nexport default () => Problem" })
    const { Problem } = await import('../../src/index.js')
    expect(await run('./plugin.ts')).toBe(Problem)
  })

  test('lets it find its own files', async () => {
    await write({
      'p/plugin.ts': "import { where } from './deep/where.js'\nexport default () => [import.meta.url, where]",
      'p/deep/where.ts': 'export const where: string[] = [import.meta.filename, import.meta.dirname]',
    })
    expect(await run('./p/plugin.ts')).toEqual([
      `file://${folder}/p/plugin.ts`,
      [`${folder}/p/deep/where.ts`, `${folder}/p/deep`],
    ])
  })

  test.each([
    ['its own names', 'const dirname = import.meta.dirname\nexport default () => dirname'],
    ['an optional chain', 'export default () => import.meta?.dirname'],
    ['an index', "export default () => import.meta['dirname']"],
    ['a first line for a shell', '#!/usr/bin/env node\nexport default () => import.meta.dirname'],
  ])('lets it find them with %s', async (_what, text) => {
    await write({ 'p/plugin.js': text })
    expect(await run('./p/plugin.js')).toBe(`${folder}/p`)
  })

  test.each([
    { what: 'requires built-in modules', text: "module.exports = require('node:path').basename('a/b')" },
    { what: 'requires what it computes', text: "const name = 'path'; module.exports = require(name).basename('a/b')" },
    {
      what: 'requires packages of the project',
      text: "module.exports = require('small')",
      files: { 'node_modules/small/index.js': "module.exports = 'b'" },
    },
    { what: 'mentions `import.meta`', text: "module.exports = 'b' // as import.meta.resolve('b') would" },
    {
      what: 'requires another one that mentions `import.meta`',
      text: "module.exports = require('./c.js')",
      files: { 'sub/c.js': "module.exports = 'b' // unlike import.meta.dirname" },
    },
    {
      what: 'requires a `.js` file that mentions `import.meta.resolve`',
      text: "module.exports = require('./c.js')",
      files: { 'sub/c.js': "module.exports = 'b' // as import.meta.resolve('b') would" },
    },
    { what: 'names its file', text: "module.exports = require('path').relative(__dirname, __filename)[0]" },
  ])('lets it import a CommonJS module that $what', async ({ text, files }) => {
    await write({
      'plugin.ts': `import word from './sub/b.cjs'
const require = (name: string) => name
export default () => [word, require('own')]`,
      'sub/b.cjs': `'use strict'; ${text}`,
      ...files,
    })
    expect(await run('./plugin.ts')).toEqual(['b', 'own'])
  })

  test('lets a plugin with a first line for a shell import a CommonJS module that requires a package', async () => {
    await write({
      'plugin.ts': "#!/usr/bin/env node\nimport word from './b.cjs'\nexport default () => word",
      'b.cjs': "module.exports = require('node:path').basename('a/b')",
    })
    expect(await run('./plugin.ts')).toBe('b')
  })

  test('resolves paths against its own file, and packages as imports do', async () => {
    await write({
      'p/plugin.ts': "export { resolve as default } from './deep/resolve.js'",
      'p/deep/resolve.ts':
        "const own = __dirname()\nfunction __dirname() { return 'own' }\nexport const resolve = () => [own, import.meta.resolve('./a.js'), import.meta['resolve']('../b.js'), import.meta.resolve('node:fs')]",
    })
    expect(await run('./p/plugin.ts')).toEqual([
      'own',
      `file://${folder}/p/deep/a.js`,
      `file://${folder}/p/b.js`,
      'node:fs',
    ])
  })

  test.each([
    { what: 'that begins with a comment', text: '/*! b */export default import.meta.resolve("./c.js")' },
    { what: 'whose exports are indented', text: `${' '.repeat(12)}export default import.meta.resolve('./c.js')` },
  ])('resolves paths in a module $what', async ({ text }) => {
    await write({ 'plugin.ts': "import path from './b.js'\nexport default () => path", 'b.js': text })
    expect(await run('./plugin.ts')).toBe(`file://${folder}/c.js`)
  })

  test('resolves paths in a module without imports and exports', async () => {
    await write({
      'plugin.ts': "import './b.mjs'\nexport default () => Reflect.get(globalThis, 'resolvedByPlugin')",
      'b.mjs': "globalThis.resolvedByPlugin = import.meta.resolve('./c.js')",
    })
    expect(await run('./plugin.ts')).toBe(`file://${folder}/c.js`)
  })

  test('lets it import JSON that mentions them', async () => {
    await write({
      'plugin.ts': "import help from './help.json'\nexport default () => help",
      'help.json': '{ "use": "import.meta.url" }',
    })
    expect(await run('./plugin.ts')).toEqual({ use: 'import.meta.url' })
  })
})

describe('editing a plugin', () => {
  test('takes effect at the next start, even with an old modification time', async () => {
    await write({ 'plugin.ts': 'export default () => 1' })
    expect(await run('./plugin.ts')).toBe(1)
    await write({ 'plugin.ts': 'export default () => 2' })
    await utimes(join(folder, 'plugin.ts'), 0, 0)
    expect(await run('./plugin.ts')).toBe(2)
  })

  test('takes effect in an imported file', async () => {
    await write({
      'plugin.ts': "export { word as default } from './word.js'",
      'word.ts': 'export const word = () => 1',
    })
    expect(await run('./plugin.ts')).toBe(1)
    await write({ 'word.ts': 'export const word = () => 2' })
    expect(await run('./plugin.ts')).toBe(2)
  })

  test('is not hidden by a compiled file next to the source', async () => {
    await write({
      'plugin.ts': "export { word as default } from './word.js'",
      'word.js': "export const word = () => 'js'",
    })
    expect(await run('./plugin.ts')).toBe('js')
    await write({ 'word.ts': "export const word = () => 'ts'" })
    expect(await run('./plugin.ts')).toBe('ts')
  })

  test('keeps only the last two compiled versions', async () => {
    for (const version of [1, 2, 3, 4]) {
      await write({ 'plugin.ts': `export default () => ${version}` })
      expect(await run('./plugin.ts')).toBe(version)
    }
    expect((await compiled()).filter((name) => name.endsWith('.mjs'))).toHaveLength(2)
  })

  test('is the only reason to compile it again', async () => {
    await write({ 'plugin.ts': 'export default () => 1' })
    await run('./plugin.ts')
    const [note = ''] = (await compiled()).filter((name) => name.endsWith('.json'))
    const before = await readFile(join(folder, '.snippetctl/plugins', note), 'utf8')
    await writeFile(join(folder, '.snippetctl/plugins', note), `${before} `)
    await run('./plugin.ts')
    expect(await readFile(join(folder, '.snippetctl/plugins', note), 'utf8')).toBe(`${before} `)
  })

  test('is not needed if the compiled file is damaged', async () => {
    await write({ 'plugin.ts': 'export default () => 1' })
    await run('./plugin.ts')
    for (const name of await compiled()) await writeFile(join(folder, '.snippetctl/plugins', name), '{')
    expect(await run('./plugin.ts')).toBe(1)
  })
})

describe('a plugin that cannot be loaded', () => {
  test.each([
    ['/etc/plugin.ts', 'the plugin `/etc/plugin.ts` is an absolute path'],
    ['../plugin.ts', 'the plugin `../plugin.ts` lies outside of the folder of the configuration'],
    ['./a/../../plugin.ts', 'lies outside'],
    ['./plugin.py', 'not a file of a kind that can be loaded'],
    ['./plugin', 'not a file of a kind that can be loaded'],
    ['./nothing.ts', 'there is no plugin `./nothing.ts`'],
    ['./folder.ts', 'the plugin `./folder.ts` is not a file'],
  ])('is rejected by its path: %s', async (path, message) => {
    await write({ 'folder.ts/file': '', 'plugin.py': '', plugin: '' })
    expect(await rejectionOf(path)).toContain(message)
  })

  test('is rejected with a suggestion if the file has another extension', async () => {
    await write({ 'plugins/a.ts': '' })
    const { rejections } = await load(['./plugins/a.js'])
    expect(rejections[0]?.help).toEqual(['a file with a similar name exists: `./plugins/a.ts`'])
  })

  test.each([
    ['', 'exports nothing; its default export must be a function'],
    [
      'export const handle = () => 1; export const limit = 2',
      'exports `handle` (function), `limit` (number); its default',
    ],
    ['export default { routes: [] }', 'exports `default` (object); its default'],
    ['export default null', 'exports `default` (null); its default'],
  ])('is rejected for its exports: %s', async (content, message) => {
    await write({ 'plugin.ts': content })
    expect(await rejectionOf('./plugin.ts')).toContain(message)
  })

  test.each([
    ['const a = 1\nconst = 2', 'plugin.ts:2:7: Expected identifier but found "="'],
    ["\n import x from './nothing.js'\nexport default x", 'plugin.ts:2:16: Could not resolve "./nothing.js"'],
    [
      "const é = 'é'; import css from './style.css'\nexport default css",
      'plugin.ts:1:32: plugins may import .ts, .mts, .js, .mjs, .cjs, .json and packages, not style.css',
    ],
    ["import './style.css'; export default import.meta.url", 'plugin.ts:1:8: plugins may import .ts'],
    [
      "import { PROBLEMS } from 'snippetctl/dist/src/problem.js'\nexport default PROBLEMS",
      "plugin.ts:1:26: the framework's own files",
    ],
    [
      "const s = require('snippetctl'); export default s",
      "plugin.ts:1:19: `require` cannot load 'snippetctl': import it",
    ],
    ["import 'no-such-package-here'", 'the plugin `./plugin.ts` could not be loaded: Cannot find'],
    ["throw new TypeError('no\\nway')", 'TypeError: no\nway'],
    ["throw 'words'", 'the plugin `./plugin.ts` threw words while it was loaded'],
    ['await Promise.reject(new Error("later"))', 'Error: later'],
  ])('is rejected with its own error: %j', async (content, message) => {
    await write({ 'plugin.ts': content, 'style.css': '' })
    expect(await rejectionOf('./plugin.ts')).toContain(message)
  })

  test('is rejected if it imports the framework by a path', async () => {
    const { pathname } = new URL('../../src/foundation/problem.ts', import.meta.url)
    await write({ 'plugin.ts': `import { Problem } from ${JSON.stringify(pathname)}\nexport default Problem` })
    expect(await rejectionOf('./plugin.ts')).toBe(
      "plugin.ts:1:25: the framework's own files are not for plugins to import: import from 'snippetctl'",
    )
  })

  test('is rejected if it does not finish loading', async () => {
    await write({ 'plugin.ts': 'export default () => 1' })
    const never = new Promise(() => undefined)
    const { rejections } = await load(['./plugin.ts'], () => never, 20)
    expect(rejections).toEqual([
      {
        code: 'SC353',
        part: 'value',
        path: ['plugins', 0],
        message: 'the plugin `./plugin.ts` did not load within 0.02 s',
        help: ['the module has a top-level await that does not resolve'],
      },
    ])
  })

  test('does not hide the others', async () => {
    await write({ 'good.ts': 'export default () => 1', 'bad.ts': 'export const a = 1', 'worse.ts': 'const = ; }' })
    const { plugins, rejections } = await load(['./bad.ts', './good.ts', './worse.ts', './none.ts'])
    expect(plugins.map(({ path }) => path)).toEqual(['./good.ts'])
    expect(new Set(rejections.map(({ path }) => path[1]))).toEqual(new Set([0, 2, 3]))
  })
})
