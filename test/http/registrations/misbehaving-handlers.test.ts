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
  app.route('GET', '/word/', 'word', async () => ({ status: 'ok' }))
  app.route('GET', '/low/', 'low', () => ({ status: 99 }))
  app.route('GET', '/number/', 'number', () => ({ status: 200, text: 5 }))
  app.route('GET', '/both/', 'both', () => ({ status: 200, body: {}, text: '{}' }))
  app.route('GET', '/empty/', 'empty', () => ({}))
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

const RIGHT = 'it must return a reply, such as { status: 200, body: {} }'
test.each([
  { name: 'nothing', line: 10, returned: `undefined; ${RIGHT}` },
  { name: 'later', line: 11, returned: `null; ${RIGHT}` },
  { name: 'body', line: 12, returned: `an object with the members ok; ${RIGHT}` },
  { name: 'empty', line: 17, returned: `an empty object; ${RIGHT}` },
  { name: 'word', line: 13, returned: "the status 'ok'; it must be an integer from 200 to 599" },
  { name: 'low', line: 14, returned: 'the status 99; it must be an integer from 200 to 599' },
  { name: 'number', line: 15, returned: 'a `text` of another type: number; it must be a string or bytes' },
  { name: 'both', line: 16, returned: '`body` and `text`; a reply has at most one of them' },
])('the log names the handler $name, which does not return a reply', async ({ name, line, returned }) => {
  expect((await fetch(`${serve.url}/api/${name}/`)).status).toBe(500)
  const says = `the handler of \`${name}\` (bad.js:${line}) returned ${returned}`
  await waitUntil(() => Promise.resolve(serve.output.stdout.includes(says)))
})
