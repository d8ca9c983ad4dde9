import { expect, test } from '@jest/globals'
import { makeProject, runInHost } from '../support/cli.js'

const config = (api: string, path: string) => `version: 1
api: ${api}
models:
  book: { fields: { id: { type: bigint, primary_key: true } } }
resources:
  book: { model: book, path: ${path} }
  novel: { model: book, path: /novels/ }
`

async function checked(api: string, path: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const project = await makeProject({ 'resources.yaml': config(api, path) })
  try {
    const { code, stdout, stderr } = await runInHost(['check'], { cwd: project.folder })
    return { code, said: stdout + stderr }
  } finally {
    await project.remove()
  }
}

test.each([{ path: '/docs/' }, { path: '/explore/' }, { path: '/explore/novels/' }])(
  'check warns of a resource in place of a page: $path',
  async ({ path }) => {
    const { code, said } = await checked('{ prefix: "" }', path)
    expect(code).toBe(0)
    expect(said).toContain(`warning[SC416]: \`book\` is served at ${path}, in place of a page of Explore or Swagger UI`)
  },
)

test('the path that the warning names has one prefix', async () => {
  expect((await checked('{ prefix: /explore }', '/explore/novels/')).said).toContain(
    'is served at /explore/explore/novels/, in place of',
  )
})

test.each([
  { api: '{ prefix: /api }', path: '/docs/' },
  { api: '{ prefix: "" }', path: '/docs-of-books/' },
  { api: '{ prefix: "" }', path: '/docs/books/' },
  { api: '{ prefix: "" }', path: '/explore/books/' },
  { api: '{ prefix: /docs }', path: '/books/' },
  { api: '{ prefix: "", explore: false }', path: '/explore/' },
])('it says nothing where no page is: $api, $path', async ({ api, path }) => {
  expect((await checked(api, path)).said).not.toContain('SC416')
})
