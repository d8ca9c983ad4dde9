import { execFile, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runInHost } from '../support/cli.js'
import { testDatabaseKind } from '../support/database.js'
import {
  applyDiff,
  type Block,
  blocksOf,
  openShell,
  renderSteps,
  type Shell,
  type Step,
  stepsOf,
} from '../support/pages.js'

const PAGES = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const PATIENCE = 240_000

// The commands of pages are for the embedded database, and their plugins need none, so a run against a given server would only do again what
// one without it does.
const isServerGiven = testDatabaseKind() === 'postgres' && process.env['TEST_DATABASE_URL'] !== undefined

const hasCurl = spawnSync('curl', ['--version']).status === 0

interface PageBlock extends Block {
  readonly page: string
}

const pages = PAGES.map((page) => ({
  page,
  blocks: blocksOf(readFileSync(page, 'utf8')).map((block): PageBlock => ({ ...block, page })),
}))
const withBlocks = (...languages: readonly string[]) =>
  pages.filter(({ blocks }) => blocks.some(({ language }) => languages.includes(language)))

/** Does in a project what a block tells the reader to do. */
const ACTIONS: Readonly<Record<string, (block: PageBlock, shell: Shell) => Promise<void>>> = {
  async yaml({ text, file = 'alone.yaml' }, shell) {
    await write(shell, file, text)
    expect(await check(shell, file)).toMatch(file.startsWith('broken') ? /^::error/ : /: ok, /)
  },
  async diff({ text, file = 'resources.yaml' }, shell) {
    await applyDiff(join(shell.folder, file), text)
  },
  async sql({ text, file }, shell) {
    if (file !== undefined) await write(shell, file, text)
  },
  async console(block, shell) {
    const seen: Step[] = []
    for (const step of stepsOf(block)) {
      // Every machine that runs this test has done it, and CI does it in a fresh clone.
      const command = step.command.replace(/^npm ci( && )?/, '')
      const output = await shell.run(command)
      // A page may leave out what a server says when it starts.
      const silent = command === '' || (step.output === '' && command.endsWith('start'))
      seen.push({ ...step, output: silent ? step.output : output })
      if (process.env['SNIPPETCTL_DOCS'] !== 'write') expect(seen).toEqual(stepsOf(block).slice(0, seen.length))
    }
    if (process.env['SNIPPETCTL_DOCS'] === 'write') await rewrite(block, renderSteps(seen))
  },
}

/** Puts the true output into a page, for `SNIPPETCTL_DOCS=write`. */
async function rewrite({ page, text }: PageBlock, seen: string): Promise<void> {
  const fenced = (inside: string) => `\`\`\`console\n${inside}\`\`\``
  await writeFile(
    page,
    (await readFile(page, 'utf8')).replace(fenced(text), () => fenced(seen)),
  )
}

async function check({ folder }: Shell, file: string): Promise<string> {
  const { stdout, stderr } = await runInHost(['check', '--config', file, '--format', 'github'], { cwd: folder })
  return stdout + stderr
}

async function write({ folder }: Shell, file: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true })
  await writeFile(join(folder, file), text)
}

describe('the commands of a page work and print what the page says (promise 24)', () => {
  const runnable = withBlocks('yaml', 'console')
  const run = hasCurl && !isServerGiven ? test : test.skip
  run.each(runnable)(
    '$page',
    async ({ blocks }) => {
      const shell = await openShell()
      try {
        for (const { language, file, text } of blocks)
          if (/^[jt]s$/.test(language) && file !== undefined) await write(shell, file, text)
        for (const block of blocks) await ACTIONS[block.language]?.(block, shell)
      } finally {
        await shell.remove()
      }
    },
    PATIENCE,
  )
})

/** Its examples are not plugins; test/docs/plugin-api compiles them. */
const REFERENCE = 'docs/plugin-api.md'

interface PagePlugins {
  readonly page: string
  readonly blocks: readonly PageBlock[]
  /** Their files, below the folder of the page. */
  readonly files: readonly string[]
  readonly folder: string
}

const pagesWithPlugins = withBlocks('ts')
  .filter(({ page }) => page !== REFERENCE)
  .map(({ page, blocks }): PagePlugins => {
    const folder = `plugins/${page.replaceAll('/', '-')}`
    const plugins = blocks.filter(({ language }) => language === 'ts')
    return { page, blocks, folder, files: plugins.map((_plugin, index) => `${folder}/plugin${index}.ts`) }
  })

const describePlugins = isServerGiven ? describe.skip : describe

describePlugins('the plugins of a page are valid', () => {
  let shell: Shell
  /** The errors of the compiler, each with its lines. */
  let errors: readonly string[]
  beforeAll(async () => {
    shell = await openShell()
    for (const { blocks, files } of pagesWithPlugins) {
      const plugins = blocks.filter(({ language }) => language === 'ts')
      for (const [index, { text }] of plugins.entries()) await write(shell, files[index] ?? '', text)
    }
    const output = await compile(
      shell,
      pagesWithPlugins.flatMap(({ files }) => files),
    )
    errors = output.match(/^\S.*(?:\n[ \t].*)*/gm) ?? []
  }, PATIENCE)
  afterAll(() => shell.remove())

  test.each(pagesWithPlugins)('$page', async ({ blocks, folder, files }) => {
    expect(errors.filter((error) => error.startsWith(`${folder}/`) || !error.startsWith('plugins/'))).toEqual([])
    const models = blocks.find(({ language }) => language === 'yaml')?.text ?? ''
    const list = files.map((file) => `  - ./${file}\n`).join('')
    const all = `${models.replace(/^(plugins|settings):\n( .*\n)+/gm, '')}\nplugins:\n${list}`
    await write(shell, 'all.yaml', all)
    expect(await check(shell, 'all.yaml')).toMatch(/^all\.yaml: ok/)
  })
})

/** What the compiler has to say of files; nothing when they are right. */
async function compile(shell: Shell, files: readonly string[]): Promise<string> {
  const config = {
    extends: resolve('tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      rootDir: '/',
      paths: { snippetctl: [resolve('dist', 'src', 'index.d.ts')] },
      typeRoots: [resolve('node_modules', '@types')],
    },
    include: undefined,
    files,
  }
  await write(shell, 'tsconfig.json', JSON.stringify(config))
  const compiler = resolve('node_modules', 'typescript-7', 'bin', 'tsc')
  return promisify(execFile)(process.execPath, [compiler, '-p', '.'], { cwd: shell.folder }).then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout?: string }) => error.stdout || error.message,
  )
}

test.each(withBlocks('json'))('every JSON block of $page is JSON', ({ blocks }) => {
  for (const { text } of blocks.filter(({ language }) => language === 'json'))
    expect(() => JSON.parse(text) as unknown).not.toThrow()
})
