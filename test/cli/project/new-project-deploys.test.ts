import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { COMMAND, inherited, makeProject, type Project, runCli, type Serving, startServe } from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { documentsOf, instructionsOf, listOf, type Part } from '../../support/deploy.js'
import { hasNginx, type Nginx, startNginx } from '../../support/nginx.js'
import { blocksOf } from '../../support/pages.js'

let place: Project
let app: string
let database: TestDatabase | undefined

beforeAll(async () => {
  place = await makeProject({})
  app = join(place.folder, 'my-api')
  expect(await runCli(['new', 'my-api'], { cwd: place.folder })).toMatchObject({ code: 0 })
  lend(app)
  database = await openOnlyOnServer()
})

afterAll(async () => {
  await database?.close()
  await place.remove()
})

/** What `npm install` leaves in a project, as far as the program needs it. */
function lend(folder: string): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(resolve('.'), join(folder, 'node_modules/snippetctl'))
}

const textOf = (file: string): string => readFileSync(join(app, file), 'utf8')

describe('the image of a new project', () => {
  let folder: string
  const instructions = () => instructionsOf(textOf('Dockerfile'))
  const last = (name: string) => instructions().findLast((one) => one.name === name)?.text ?? ''
  const inside = (words: readonly string[], env = {}) =>
    execFileSync(process.execPath, words, {
      cwd: folder,
      env: { ...inherited(), ...env },
      encoding: 'utf8',
      stdio: 'pipe',
    })

  beforeAll(() => {
    folder = join(place.folder, 'image')
    writeFileSync(join(app, '.env'), 'DATABASE_URL=postgres://secret\n')
    mkdirSync(folder)
    const [everything, ...allowed] = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(everything).toBe('*')
    for (const path of allowed.map((line) => line.slice(1)).filter((path) => existsSync(join(app, path))))
      cpSync(join(app, path), join(folder, path), { recursive: true })
    lend(folder)
  })

  test('is built by working steps, and contains no secrets', () => {
    const [install, check] = instructions().filter(({ name }) => name === 'RUN')
    expect(install?.text).toMatch(/^npm ci .*--ignore-scripts/)
    const words = check?.words ?? []
    expect(words.slice(0, 2)).toEqual(['node', 'node_modules/snippetctl/bin/snippetctl.js'])
    expect(inside(words.slice(1), { NODE_ENV: 'production' })).toBe('resources.yaml: ok, 1 resource, 7 routes\n')
    expect(readdirSync(folder).sort()).toEqual(
      ['.npmrc', '.snippetctl', 'migrations', 'node_modules', 'package.json', 'plugins', 'resources.yaml'].sort(),
    )
  })

  test('serves as an unprivileged user, and its check reports it as healthy', async () => {
    const command = [...(JSON.parse(last('ENTRYPOINT')) as string[]), ...(JSON.parse(last('CMD')) as string[])]
    expect(command).toEqual(['node', 'node_modules/snippetctl/bin/snippetctl.js', 'serve'])
    expect(last('USER')).toBe('1000:1000')
    const before = filesIn(folder)
    const serving = await startServe(['--migrate', '--admin-port', '0'], { cwd: folder, env: envOf(database) })
    const admin = String((await serving.logged('admin_listening'))['url'])
    expect((await fetch(`${serving.url}/api/books/`)).status).toBe(200)
    const [, ...probe] = JSON.parse(last('HEALTHCHECK').replace(/^.*?\bCMD /, '')) as string[]
    inside(probe, { SNIPPETCTL_ADMIN_PORT: new URL(admin).port })
    expect(await serving.stop()).toMatchObject({ code: 0 })
    if (database) expect(filesIn(folder)).toEqual(before)
  })

  test('can be built for a project without the example', async () => {
    await runCli(['new', 'bare', '--empty'], { cwd: place.folder })
    expect(readFileSync(join(place.folder, 'bare/Dockerfile'), 'utf8').replaceAll('bare', 'my-api')).toBe(
      textOf('Dockerfile'),
    )
    const named = instructions().filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    const sources = named.flatMap(({ words }) => words.slice(0, -1))
    // The lock file is what `npm install` leaves.
    expect(sources.filter((path) => !existsSync(join(place.folder, 'bare', path)))).toEqual([
      'package-lock.json',
      '*.tgz',
    ])
  })
})

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => !name.startsWith('node_modules')).sort()
}

describe('compose.yaml of a new project', () => {
  const services = (): Part => documentsOf(join(app, 'compose.yaml'))[0]?.['services'] ?? {}

  test('migrates once the database responds, then serves', () => {
    const { database: postgres, migrate, service } = services()
    expect(String(postgres?.['image'])).toMatch(/^postgres:1[4-9]$/)
    expect(migrate).toMatchObject({
      command: ['migrate', 'up'],
      depends_on: { database: { condition: 'service_healthy' } },
    })
    expect(service).toMatchObject({
      command: ['serve'],
      depends_on: { migrate: { condition: 'service_completed_successfully' } },
      ports: ['127.0.0.1:8000:8000'],
    })
    for (const each of [migrate, service])
      expect(each).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        image: 'my-api',
        build: '.',
      })
  })

  test.each([
    ['my.app', 'my-app'],
    ['2026', '2026'],
  ])('has a name that Docker accepts for `%s`', async (name, expected) => {
    expect(await runCli(['new', name], { cwd: place.folder })).toMatchObject({ code: 0 })
    const [compose] = documentsOf(join(place.folder, name, 'compose.yaml'))
    expect(compose).toMatchObject({ name: expected, services: { service: { image: name } } })
  })

  test('reads its password from .env, which .env.example names and git ignores', () => {
    const text = textOf('compose.yaml')
    const named = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(['POSTGRES_PASSWORD']))
    expect(textOf('.env.example')).toContain('\n# POSTGRES_PASSWORD=\n')
    expect(textOf('.gitignore').split('\n')).toEqual(expect.arrayContaining(['.env', 'deploy/users']))
    expect(text).not.toMatch(/postgres:\/\/\w+:(?!\$)|_PASSWORD: +[^$\s]/)
  })

  test("mounts the project's proxy configuration", () => {
    const mounts = listOf(services()['proxy']?.['volumes']).map((mount) => mount.split(':')[0] ?? '')
    expect(mounts).toEqual(['./deploy/nginx.conf', './deploy/users'])
    expect(existsSync(join(app, 'deploy/nginx.conf'))).toBe(true)
    expect(textOf('deploy/nginx.conf')).toBe(readFileSync('deploy/nginx.conf', 'utf8'))
  })

  test('forwards no header in which a client claims its URL', () => {
    const set = textOf('deploy/nginx.conf').match(/(?<=proxy_set_header )(?:X-)?Forwarded[^;]*/g)
    expect(set).toEqual([
      'X-Forwarded-For $remote_addr',
      'X-Forwarded-Proto $scheme',
      'X-Forwarded-Host $http_host',
      'Forwarded ""',
    ])
  })
})

describe('the workflow of a new project', () => {
  test('has commands that pass in the project', () => {
    const [workflow] = documentsOf(join(app, '.github/workflows/check.yml'))
    const steps = (workflow?.['jobs']?.['check']?.['steps'] ?? []) as unknown as readonly { readonly run?: string }[]
    const [install, ...commands] = steps.flatMap(({ run }) => run ?? [])
    expect(install).toBe('npm ci')
    expect(commands.length).toBe(3)
    for (const command of commands)
      execFileSync('sh', ['-ec', command.replace('npx snippetctl', `'${process.execPath}' '${COMMAND}'`)], {
        cwd: app,
        env: { ...inherited(), NODE_ENV: 'test', ...envOf(database) },
        stdio: 'pipe',
      })
  })
})

const WHO = `export default (app) => {
  app.route('GET', '/who/', 'who', ({ headers }) => ({
    status: 200,
    body: { user: headers['x-remote-user'] ?? null, authorization: headers.authorization ?? null },
  }))
}
`

/** `openssl passwd -apr1`: correct horse. */
const ACCOUNT = 'alice:$apr1$Vb1eGuOF$/o1D61p0OEXvPuvqwh0Tm.\n'

;(hasNginx ? describe : describe.skip)('a proxy that authenticates users', () => {
  let serving: Serving
  let gate: Server
  const proxies = new Map<string, Nginx>()

  beforeAll(async () => {
    const folder = join(place.folder, 'behind')
    cpSync(app, folder, { recursive: true, filter: (path) => !path.includes('node_modules') })
    lend(folder)
    writeFileSync(join(folder, 'plugins/who.mjs'), WHO)
    const file = join(folder, 'resources.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('plugins:\n', 'plugins:\n  - ./plugins/who.mjs\n'))
    serving = await startServe(['--migrate'], { cwd: folder, env: { NODE_ENV: 'test', ...envOf(database) } })
    gate = createServer(({ headers }, response) => {
      const allowed = headers.cookie === 'session=alice'
      response.writeHead(allowed ? 202 : 401, allowed ? { 'X-Auth-Request-User': 'alice' } : {}).end()
    }).listen(0, '127.0.0.1')
    const basic = textOf('deploy/nginx.conf')
      .replace('service:8000', new URL(serving.url).host)
      .replace('/etc/nginx/users', join(place.folder, 'users'))
    writeFileSync(join(place.folder, 'users'), ACCOUNT)
    proxies.set('a password', await startNginx(mkdir('basic'), basic))
    proxies.set('another service', await startNginx(mkdir('forward'), askElsewhere(basic)))
  })

  afterAll(async () => {
    for (const proxy of proxies.values()) await proxy.stop()
    gate.close()
    await serving.stop()
  })

  function mkdir(name: string): string {
    const folder = join(place.folder, name)
    mkdirSync(folder)
    return folder
  }

  /** The configuration, changed as the page says it. */
  function askElsewhere(basic: string): string {
    const page = readFileSync('docs/deployment.md', 'utf8')
    const instead = blocksOf(page).find(({ language }) => language === 'nginx')?.text ?? ''
    const { port } = gate.address() as AddressInfo
    return basic
      .replace(/ {2}auth_basic .*\n.*auth_basic_user_file .*\n/, () =>
        instead.replace('127.0.0.1:4180', `127.0.0.1:${port}`),
      )
      .replace('$remote_user', '$user')
  }

  const CREDENTIALS = [
    ['a password', { authorization: `Basic ${Buffer.from('alice:correct horse').toString('base64')}` }],
    ['another service', { cookie: 'session=alice' }],
  ] as const
  const WRONG = {
    'a password': { authorization: `Basic ${Buffer.from('alice:wrong').toString('base64')}` },
    'another service': { cookie: 'session=mallory' },
  }

  const send = (who: string, path: string, init: RequestInit = {}) => fetch(`${proxies.get(who)?.url}${path}`, init)

  test.each(CREDENTIALS)('by %s: rejects reads and writes without valid credentials', async (who, _headers) => {
    for (const headers of [{}, WRONG[who]])
      for (const [path, method] of [
        ['/api/books/', 'GET'],
        ['/api/books/', 'POST'],
        ['/', 'GET'],
        ['/openapi.json', 'GET'],
      ])
        expect((await send(who, path ?? '', { headers, ...(method && { method }) })).status).toBe(401)
  })

  test.each(CREDENTIALS)('by %s: forwards requests, and streams responses', async (who, headers) => {
    const json = { ...headers, 'content-type': 'application/json' }
    const made = await send(who, '/api/books/', { method: 'POST', headers: json, body: '{"title":"Emma"}' })
    expect(made.status).toBe(201)
    const location = new URL(made.headers.get('location') ?? '', proxies.get(who)?.url)
    const found = await send(who, location.pathname, { headers })
    expect(await found.json()).toMatchObject({ title: 'Emma' })
    const unchanged = await send(who, location.pathname, {
      headers: { ...headers, 'if-none-match': found.headers.get('etag') ?? '' },
    })
    expect(unchanged.status).toBe(304)
    const large = await send(who, '/api/books/', { method: 'POST', headers: json, body: `"${'x'.repeat(2 ** 21)}"` })
    expect(large.status).toBe(413)
    expect(large.headers.get('content-type')).toBe('application/problem+json')
  })

  test.each(CREDENTIALS)(
    'by %s: sets the user, whatever the client claims, and drops the password',
    async (who, headers) => {
      const told = await send(who, '/api/who/', { headers: { ...headers, 'x-remote-user': 'mallory' } })
      expect(await told.json()).toEqual({ user: 'alice', authorization: null })
    },
  )
})
