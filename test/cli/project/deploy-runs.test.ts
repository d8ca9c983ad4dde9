import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeProject, type Project, runCli, type Serving, startServe } from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { containerOf, execForm, image } from '../../support/deploy.js'
import { waitUntil } from '../../support/wait-until.js'

let project: Project
let database: TestDatabase | undefined

/** A folder with the contents of /app in the image. */
beforeAll(async () => {
  await runCli(['--version'])
  project = await makeProject({})
  for (const { words } of image.filter(({ name }) => name === 'COPY')) copyInto(project.folder, words)
  database = await openOnlyOnServer()
})

afterAll(async () => {
  await database?.close()
  await project.remove()
})

function run(...args: readonly string[]): string {
  const env = { ...process.env, ...envOf(database), NODE_ENV: 'production' }
  return execFileSync(process.execPath, ['bin/snippetctl.js', ...args], {
    cwd: project.folder,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  })
}

describe('the contents of the image', () => {
  test('are all that the program needs, and nothing is written later', () => {
    expect(run('check')).toContain('resources.yaml: ok')
    const files = filesIn(project.folder)
    expect(files).toContainEqual(expect.stringMatching(/^\.snippetctl\/plugins\/.+\.mjs$/))
    expect(run('routes')).toContain('/snippets-viewset/')
    if (database) run('migrate', 'up')
    expect(filesIn(project.folder)).toEqual(files)
  })

  describe('the running image', () => {
    let serving: Serving
    let admin: string

    beforeAll(async () => {
      serving = await startServe(['--admin-port', '0', '--migrate'], { cwd: project.folder, env: envOf(database) })
      admin = String((await serving.logged('admin_listening'))['url'])
    })

    afterAll(() => serving.stop())

    test.each(['startupProbe', 'livenessProbe', 'readinessProbe'])('responds to the %s', async (name) => {
      const { path, port } = (containerOf('Deployment')[name]?.['httpGet'] ?? {}) as unknown as Readonly<
        Record<string, string>
      >
      expect(port).toBe('admin')
      // It says that it listens a moment before it is ready.
      await waitUntil(
        () => fetch(new URL(path ?? '', admin)),
        ({ status }) => status === 200,
      )
    })

    test('is healthy by its own check, until it has ended', async () => {
      const [, ...args] = execForm('HEALTHCHECK')
      const env = { ...process.env, SNIPPETCTL_ADMIN_PORT: new URL(admin).port }
      const look = () => execFileSync(process.execPath, args, { env, stdio: 'ignore' })
      expect(look).not.toThrow()
      await serving.stop()
      expect(look).toThrow()
    })
  })
})

/** Does what an instruction COPY does; node_modules are lent. */
function copyInto(folder: string, words: readonly string[]): void {
  const target = join(folder, words.at(-1) ?? '')
  for (const word of words.slice(0, -1).filter((each) => !each.startsWith('--from='))) {
    const source = word.replace(/^\/app\//, '')
    const to = words.at(-1)?.endsWith('/') ? join(target, basename(source)) : target
    mkdirSync(dirname(to), { recursive: true })
    if (source === 'node_modules') symlinkSync(join(process.cwd(), source), to)
    else cpSync(source, to, { recursive: true })
  }
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => !name.startsWith('node_modules')).sort()
}
