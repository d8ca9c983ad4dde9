import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { BOOKS, COMMAND, inherited, makeProject, runCli, runInHost } from '../support/cli.js'

const COMMANDS = [
  ['new'],
  ['serve'],
  ['routes'],
  ['url'],
  ['check'],
  ['explain'],
  ['add', 'resource'],
  ['migrate'],
  ['migrate', 'plan'],
  ['migrate', 'up'],
  ['migrate', 'down'],
  ['migrate', 'status'],
  ['seed'],
  ['dump'],
  ['db'],
  ['db', 'copy'],
  ['db', 'backup'],
  ['db', 'restore'],
  ['doctor'],
  ['completion'],
]
const ESCAPE = '\u001b['

describe('the command line', () => {
  test.each(COMMANDS)('prints help with examples for %s %s', async (...command) => {
    const { code, stdout, stderr } = await runInHost([...command.filter(Boolean), '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Usage: snippetctl ${command.filter(Boolean).join(' ')}`)
    expect(stdout).toContain('$ snippetctl')
  })

  test("does not optimise the embedded database's code for a short command", async () => {
    const project = await makeProject({ 'resources.yaml': BOOKS })
    try {
      const words = ['--trace-wasm-compilation-times', COMMAND, 'migrate', 'plan', '--config', 'resources.yaml']
      const { stdout } = await promisify(execFile)(process.execPath, words, {
        cwd: project.folder,
        env: inherited(),
        maxBuffer: 2 ** 26,
      })
      expect(stdout).toContain('using Liftoff')
      expect(stdout).not.toContain('using TurboFan')
    } finally {
      await project.remove()
    }
  })

  test('prints its version', async () => {
    const { code, stdout } = await runCli(['--version'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d+\.\d+\.\d+/)
  })

  test.each([
    { args: [], message: 'Usage: snippetctl' },
    { args: ['migrate'], message: 'Usage: snippetctl migrate' },
    { args: ['serv'], message: "unknown command 'serv'\n  = help: a similar name exists: serve\n" },
    { args: ['routes', '--jsn'], message: "unknown option '--jsn'\n  = help: a similar name exists: --json\n" },
    { args: ['routes', 'extra'], message: 'too many arguments' },
    { args: ['url'], message: "missing required argument 'name'" },
    { args: ['check', '--format', 'xml'], message: 'Allowed choices are text, json, github' },
    { args: ['serve', '--port', '65536'], message: 'A port must be an integer from 0 to 65535' },
    { args: ['serve', '--port', '80a'], message: 'A port must be an integer from 0 to 65535' },
    { args: ['check', '--config', ''], message: "'--config <file>' argument '' is invalid. It must name a file." },
    { args: ['dump', 'book', '--output', ''], message: "argument '' is invalid. It must name a file." },
    { args: ['seed', ''], message: "argument 'file'. It must name a file." },
  ])('exits with 2 for $args and prints why on stderr', async ({ args, message }) => {
    const outcome = await runCli(args)
    expect(outcome).toMatchObject({ code: 2, stdout: '' })
    expect(outcome.stderr).toContain(message)
    expect(outcome.stderr).not.toContain('Did you mean')
  })

  test('validates a port from the environment like one from the flag', async () => {
    const { code, stderr } = await runCli(['serve'], { env: { PORT: 'http' } })
    expect(code).toBe(2)
    expect(stderr).toContain("from env 'PORT'")
  })

  test.each([
    { env: {}, args: [], colored: false },
    { env: { FORCE_COLOR: '1' }, args: [], colored: true },
    { env: { FORCE_COLOR: '1', NO_COLOR: '1' }, args: ['--no-color'], colored: true },
    { env: { FORCE_COLOR: '0' }, args: [], colored: false },
  ])('colours output to a pipe only if $env forces it', async ({ env, args, colored }) => {
    const project = await makeProject({ 'resources.yaml': BOOKS })
    const { stdout } = await runCli(['routes', ...args], { cwd: project.folder, env })
    await project.remove()
    expect(stdout.includes(ESCAPE)).toBe(colored)
  })

  test('prints configuration errors on stderr and exits with 2 if a command needs the configuration', async () => {
    const project = await makeProject({ 'resources.yaml': BOOKS.replace('type: string', 'type: strng') })
    const outcome = await runCli(['routes'], { cwd: project.folder })
    await project.remove()
    expect(outcome).toMatchObject({ code: 2, stdout: '' })
    expect(outcome.stderr).toContain('--> resources.yaml:9:22')
    expect(outcome.stderr).toMatch(/resources\.yaml: 1 error\n$/)
  })
})
