import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startServe } from '../../support/cli.js'
import { waitUntil } from '../../support/wait-until.js'

const CONFIG = 'version: 1\nplugins: [./bad.js]\n'
const PLUGIN = `import { Problem } from 'snippetctl'
export default (app) => {
  const circle = {}
  circle.self = circle
  const chain = new Error('x')
  chain.cause = chain
  app.route('GET', '/circle/', 'circle', async () => { throw circle })
  app.route('GET', '/chain/', 'chain', async () => { throw chain })
  app.route('GET', '/type/', 'type', async () => { throw new Problem('no_such_type', 'no') })
  app.route('GET', '/nothing/', 'nothing', () => {})
  app.route('GET', '/later/', 'later', async () => null)
  app.route('GET', '/body/', 'body', () => ({ ok: true }))
  app.use((_context, next) => next())
  app.mount('/twice/', (request, response) => { response.end('1'); response.end('2') })
}
`

let folder: string
let serve: Awaited<ReturnType<typeof startServe>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  await writeFile(join(folder, 'resources.yaml'), CONFIG)
  await writeFile(join(folder, 'bad.js'), PLUGIN)
  serve = await startServe(['--port', '0'], { cwd: folder })
})
afterAll(async () => {
  await serve.stop()
  await rm(folder, { recursive: true })
})

test.each([
  ['/api/circle/', 500],
  ['/api/chain/', 500],
  ['/api/type/', 500],
  ['/twice/', 200],
  ['/api/circle/', 500],
])('%s gets status %d, and the server continues', async (path, status) => {
  expect((await fetch(serve.url + path)).status).toBe(status)
})

test.each([
  { name: 'nothing', line: 10, returned: 'undefined' },
  { name: 'later', line: 11, returned: 'null' },
  { name: 'body', line: 12, returned: '{ ok: true }' },
])('the log names the handler that returned $returned, which is not a reply', async ({ name, line, returned }) => {
  expect((await fetch(`${serve.url}/api/${name}/`)).status).toBe(500)
  const says = `the handler of \`${name}\` (bad.js:${line}) returned ${returned}; it must return a reply, such as { status: 200, body: {} }`
  await waitUntil(() => Promise.resolve(serve.output.stdout.includes(says)))
})
