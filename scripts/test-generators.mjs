/**
 * Has programs of others read our OpenAPI documents: `npm run test:generators`. They are installed into a temporary folder, make clients of the
 * documents of two running services, and the clients are compiled under `strict` and used; a validating proxy and a Postman collection
 * judge the services by their documents. `--installed FOLDER` takes a folder where they are installed, `--only NAME` some of them.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { GENERATORS } from '../test/generators/generators.mjs'

const HOME = fileURLToPath(new URL('..', import.meta.url))
const OURS = join(HOME, 'test/generators')
const SERVICES = ['snippets', 'market']
const DOCUMENTS = { 3.1: '/openapi.json', '3.0': '/openapi-3.0.json' }

const { values } = parseArgs({ options: { installed: { type: 'string' }, only: { type: 'string', default: '' } } })
const folder = mkdtempSync(join(tmpdir(), 'snippetctl-generators-'))
// Plugins find the framework from inside the checkout.
const projects = join(HOME, '.snippetctl', `generators-${process.pid}`)
const modules = join(folder, 'node_modules')
const running = []
let failures = 0

try {
  install()
  const services = {}
  for (const name of SERVICES) services[name] = await serve(name)
  const cases = await generate(services)
  if (await compile()) for (const each of cases) await attempt(each.title, () => use(each))
  for (const { name, version, document } of await documentsOf(services)) {
    if (isWanted('proxy'))
      await attempt(`express-openapi-validator, ${name} ${version}`, () => judge(services[name], name, document))
    if (isWanted('portman') && name === 'snippets')
      await attempt(`Portman and newman, ${name} ${version}`, () => runCollection(services[name], name, document))
  }
} finally {
  for (const child of running) child.kill()
  await Promise.all(running.map((child) => child.exitCode === null && once(child, 'exit')))
  for (const each of [folder, projects]) rmSync(each, { recursive: true, force: true })
}
console.log(failures === 0 ? 'no failures' : `${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1

function isWanted(name) {
  return name.includes(values.only)
}

function install() {
  if (values.installed !== undefined) return symlinkSync(resolve(values.installed, 'node_modules'), modules)
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(OURS, file), join(folder, file))
  // Of what asks for a newer Node than ours, generators.mjs says why it is here.
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false'], folder)
}

async function serve(name) {
  const project = join(projects, name)
  mkdirSync(project, { recursive: true })
  if (name === 'snippets') {
    for (const each of ['resources.yaml', 'migrations', 'src/snippets'])
      cpSync(join(HOME, each), join(project, each), { recursive: true })
  } else {
    cpSync(join(HOME, `test/applications/${name}.yaml`), join(project, 'resources.yaml'))
    cpSync(join(HOME, `test/applications/${name}.mjs`), join(project, `${name}.mjs`))
    run(process.execPath, [join(HOME, 'bin/snippetctl.js'), 'migrate', 'plan', '--write', 'first'], project)
  }
  const { PATH, HOME: home } = process.env
  const child = spawn(process.execPath, [join(HOME, 'bin/snippetctl.js'), 'serve', '--json', '--port', '0'], {
    cwd: project,
    env: { PATH, HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.push(child)
  for await (const line of createInterface(child.stdout)) {
    const { event, url } = JSON.parse(line)
    if (event !== 'listening') continue
    child.stdout.resume()
    return url
  }
  throw new Error(`the service ${name} did not start`)
}

async function documentsOf(services) {
  const documents = []
  for (const name of SERVICES) {
    for (const [version, path] of Object.entries(DOCUMENTS)) {
      const document = join(folder, `${name}-${version}.json`)
      writeFileSync(document, await (await fetch(services[name] + path)).text())
      documents.push({ name, version, document })
    }
  }
  return documents
}

/** Makes every client, each in a folder with the program that uses it. */
async function generate(services) {
  const cases = []
  for (const { name, version, document } of await documentsOf(services)) {
    const fitting = GENERATORS.filter(({ name, versions = [version] }) => isWanted(name) && versions.includes(version))
    for (const generator of fitting) {
      const title = `${generator.name}, ${name} ${version}`
      const place = join(folder, 'clients', `${name}-${version}-${generator.name.replaceAll(/\W+/g, '-')}`)
      mkdirSync(place, { recursive: true })
      for (const each of SERVICES) cpSync(join(OURS, `clients/${each}.ts`), join(folder, `clients/${each}.ts`))
      cpSync(join(OURS, 'clients', generator.client), place, {
        recursive: true,
        filter: (path) =>
          !SERVICES.some((other) => other !== name && path.endsWith(`/${generator.client}/${other}.ts`)),
      })
      const isMade = await attempt(`${title}: generated`, () =>
        run(process.execPath, generator.command(modules, document, join(place, 'generated')), folder),
      )
      if (isMade) cases.push({ title: `${title}: used`, name, place, url: services[name] })
    }
  }
  return cases
}

function compile() {
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], module: 'esnext', moduleResolution: 'bundler' },
    ...{
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(HOME, 'node_modules/@types')],
    },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['clients/**/*.ts'] }))
  const compiler = join(HOME, 'node_modules/typescript-7/bin/tsc')
  return attempt('all clients: compiled under strict', () => run(process.execPath, [compiler, '-p', folder], folder))
}

async function use({ name, place, url }) {
  const main = `import { use } from '../${name}.js'\nimport { connect } from './${name}.js'\nawait use(connect(process.argv[2]))\n`
  writeFileSync(join(place, 'main.ts'), main)
  const outfile = join(place, 'main.mjs')
  await build({
    ...{ entryPoints: [join(place, 'main.ts')], outfile, bundle: true, logLevel: 'silent' },
    ...{ platform: 'node', format: 'esm', target: 'node20' },
  })
  run(process.execPath, [outfile, url], folder)
}

/** The client of openapi-typescript uses the service through a proxy that validates. */
async function judge(url, name, document) {
  for (const file of ['proxy.mjs', 'judge.mjs']) cpSync(join(OURS, file), join(folder, file))
  const version = document.slice(-8, -5)
  const client = join(folder, 'clients', `${name}-${version}-openapi-typescript`, 'main.mjs')
  run(process.execPath, ['judge.mjs', document, url, name, client], folder)
}

function runCollection(url, name, document) {
  for (const file of ['collection.mjs', `${name}.portman.json`]) cpSync(join(OURS, file), join(folder, file))
  run(process.execPath, ['collection.mjs', document, url, `${name}.portman.json`], folder)
}

/** @returns whether it was done */
async function attempt(title, work) {
  try {
    await work()
    console.log(`ok      ${title}`)
    return true
  } catch (error) {
    failures += 1
    console.log(`FAILED  ${title}\n${String(error?.message ?? error)}`)
    return false
  }
}

function run(program, args, cwd) {
  const env = { ...process.env, NO_COLOR: '1', CI: '1' }
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`.slice(0, 6000))
}
