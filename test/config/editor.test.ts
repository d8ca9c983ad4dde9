import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { FIELD_TYPES } from '../../src/internal.js'
import { BOOKS } from '../support/cli.js'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
}

interface Diagnosed {
  readonly uri: string
  readonly diagnostics: readonly { readonly message: string; readonly range: { readonly start: Position } }[]
}

interface Position {
  readonly line: number
  readonly character: number
}

const SCHEMA = pathToFileURL(resolve('resources.schema.json')).href
const MODELINE = `# yaml-language-server: $schema=${SCHEMA}\n`
const WITH_MISTAKES = `${MODELINE}${BOOKS.replace('min: 1, max: 100', 'requird: true').replace('filterable:', 'fliterable:')}`

/** Prints each connection attempt of the process on stderr, and makes it fail. */
const OFFLINE = `import net from 'node:net'
net.Socket.prototype.connect = function (...where) {
  console.error('connects to ' + JSON.stringify(where))
  throw new Error('offline')
}`

/** A language server that is spoken to over its standard streams, as an editor does. */
function startServer() {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [
    '--import',
    `data:text/javascript,${encodeURIComponent(OFFLINE)}`,
    resolve('node_modules', 'yaml-language-server', 'bin', 'yaml-language-server'),
    '--stdio',
  ])
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  const waiting = new Map<number, (result: unknown) => void>()
  const diagnosed = new Map<string, (diagnostics: Diagnosed['diagnostics']) => void>()
  let unread = Buffer.alloc(0)
  let ids = 0

  const send = (message: Message & { readonly error?: unknown }) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  const receive = ({ id, method, params, result }: Message) => {
    if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as Diagnosed
      if (diagnostics.length > 0 || !uri.includes('mistakes')) diagnosed.get(uri)?.(diagnostics)
    }
    // The server asks for the settings of its client, and for leave to register; it gets what an editor without settings says.
    if (method !== undefined && id !== undefined)
      return send({ id, result: method === 'workspace/configuration' ? SETTINGS : null })
    if (id !== undefined) waiting.get(id)?.(result)
  }

  child.stdout.on('data', (bytes: Buffer) => {
    unread = Buffer.concat([unread, bytes])
    for (;;) {
      const head = /Content-Length: (\d+)\r\n(?:.*\r\n)*?\r\n/.exec(unread.toString('latin1'))
      if (!head) return
      const start = head.index + head[0].length
      const end = start + Number(head[1])
      if (unread.length < end) return
      const body = unread.subarray(start, end).toString()
      unread = unread.subarray(end)
      receive(JSON.parse(body) as Message)
    }
  })

  const request = (method: string, params: unknown) => {
    ids += 1
    const id = ids
    const answered = new Promise<unknown>((settle) => waiting.set(id, settle))
    send({ id, method, params })
    return answered
  }

  return {
    request,
    notify: (method: string, params: unknown) => send({ method, params }),
    /** Opens a text, and returns the diagnostics of the server. */
    open(uri: string, text: string): Promise<Diagnosed['diagnostics']> {
      const said = new Promise<Diagnosed['diagnostics']>((settle) => diagnosed.set(uri, settle))
      send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version: 1, text } } })
      return said
    },
    /** What it has written to stderr. */
    complaints: () => complaints,
    stop: () => child.kill(),
  }
}

const SETTINGS = [
  { validate: true, hover: true, completion: true, schemaStore: { enable: false } },
  {},
  {},
  { tabSize: 2 },
  {},
]

let server: ReturnType<typeof startServer>

beforeAll(async () => {
  server = startServer()
  const capabilities = {
    workspace: { configuration: true },
    textDocument: { hover: {}, completion: { completionItem: { snippetSupport: true } } },
  }
  await server.request('initialize', { processId: process.pid, rootUri: null, capabilities })
  server.notify('initialized', {})
})

afterAll(() => void server.stop())

const uriOf = (name: string) => pathToFileURL(resolve('test', `${name}.yaml`)).href

/** Where a text stands in another, behind its first characters. */
const placeOf = (text: string, part: string, behind = 0): Position => {
  const before = text.slice(0, text.indexOf(part) + behind).split('\n')
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
}

describe('an editor with the schema of the configuration (promise 15)', () => {
  test('accepts a valid file', async () => {
    expect(await server.open(uriOf('right'), `${MODELINE}${BOOKS}`)).toEqual([])
  })

  test('marks unknown keys at their positions', async () => {
    const said = await server.open(uriOf('mistakes'), WITH_MISTAKES)
    const found = said.map(({ message, range }) => ({ message, line: range.start.line }))
    expect(found).toEqual(
      expect.arrayContaining([
        { message: expect.stringContaining('requird'), line: placeOf(WITH_MISTAKES, 'requird').line },
        { message: expect.stringContaining('fliterable'), line: placeOf(WITH_MISTAKES, 'fliterable').line },
      ]),
    )
  })

  test('describes keys', async () => {
    const text = `${MODELINE}${BOOKS}`
    const uri = uriOf('hovered')
    await server.open(uri, text)
    const hover = await server.request('textDocument/hover', {
      textDocument: { uri },
      position: placeOf(text, 'filterable', 3),
    })
    expect(JSON.stringify(hover)).toContain('The fields that lists can be filtered by')
  })

  test('completes missing keys', async () => {
    const text = `${MODELINE}${BOOKS}    \n`
    const uri = uriOf('completed')
    await server.open(uri, text)
    const line = text.split('\n').length - 2
    const offered = (await server.request('textDocument/completion', {
      textDocument: { uri },
      position: { line, character: 4 },
    })) as { readonly items: readonly { readonly label: string }[] }
    const labels = offered.items.map(({ label }) => label)
    expect(labels).toEqual(expect.arrayContaining(['orderable', 'pagination', 'read_only']))
    expect(labels).not.toContain('path')
  })

  test('completes the required keys of a resource', async () => {
    const text = `${MODELINE}${BOOKS.replace('    path: /books/\n    filterable: [title]\n', '    \n')}`
    const uri = uriOf('begun')
    await server.open(uri, text)
    const position = placeOf(text, '    model: book\n    ', '    model: book\n    '.length)
    const offered = (await server.request('textDocument/completion', { textDocument: { uri }, position })) as {
      readonly items: readonly { readonly label: string; readonly documentation?: unknown }[]
    }
    const path = offered.items.find(({ label }) => label === 'path')
    expect(JSON.stringify(path?.documentation)).toContain('path of the resource')
  })

  test('completes field types', async () => {
    const text = `${MODELINE}${BOOKS.replace('title: { type: string, min: 1, max: 100 }', 'title:\n        type: ')}`
    const uri = uriOf('typed')
    await server.open(uri, text)
    const position = placeOf(text, 'title:\n        type: ', 'title:\n        type: '.length)
    const offered = (await server.request('textDocument/completion', { textDocument: { uri }, position })) as {
      readonly items: readonly { readonly label: string }[]
    }
    expect(offered.items.map(({ label }) => label)).toEqual(expect.arrayContaining(FIELD_TYPES.map(({ name }) => name)))
  })

  test('needs no network', () => {
    expect(server.complaints()).toBe('')
  })
})
