import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { makeProject, runCli } from '../../support/cli.js'
import {
  cluster,
  compose,
  containerOf,
  dockerfile,
  execForm,
  image,
  imageEnvironment,
  instruction,
  listOf,
  objectOf,
  podOf,
  read,
  unit,
} from '../../support/deploy.js'

/** The maximum number of seconds that a server takes to stop after the delay, and the default delay, as documented in `docs/operations.md`. */
const STOPPING = 15
const CUSTOMARY_DELAY = 0.5
const UNIT = 'deploy/systemd/snippetctl.service'

const { version } = JSON.parse(read('package.json')) as { readonly version: string }
const unitCommand = (key: string): readonly string[] => (unit.get(key)?.[0] ?? '').split(' ').slice(2)

/** Every place where the program is started: who says it, and with which arguments. */
const COMMANDS: readonly (readonly [who: string, args: readonly string[]])[] = [
  ['the image', execForm('CMD')],
  ['the migrate service of compose', listOf(compose['migrate']?.['command'])],
  ['the service of compose', listOf(compose['service']?.['command'])],
  ['ExecStartPre of the unit', unitCommand('ExecStartPre')],
  ['the unit', unitCommand('ExecStart')],
  ['the Job', listOf(containerOf('Job')['args'])],
  ['the Deployment', listOf(containerOf('Deployment')['args'])],
]

/** Seconds until a process manager kills the server, and the arguments of the command that it starts. */
const PATIENCE: readonly (readonly [who: string, seconds: number, args: readonly string[]])[] = [
  ['compose', parseInt(compose['service']?.['stop_grace_period'] ?? ''), listOf(compose['service']?.['command'])],
  ['the unit', Number(unit.get('TimeoutStopSec')?.[0]), unitCommand('ExecStart')],
  ['Kubernetes', podOf('Deployment')['terminationGracePeriodSeconds'] ?? 0, listOf(containerOf('Deployment')['args'])],
]

describe('the documented start commands', () => {
  const help = new Map<string, string>()
  const commandOf = (args: readonly string[]) => args.filter((word) => /^[a-z]+$/.test(word))

  beforeAll(async () => {
    for (const [, args] of COMMANDS) {
      const command = commandOf(args)
      help.set(command.join(' '), (await runCli([...command, '--help'])).stdout)
    }
  })

  test.each(COMMANDS)('%s starts an existing command with existing flags', (_, args) => {
    const text = help.get(commandOf(args).join(' ')) ?? ''
    expect(text).toContain(`Usage: snippetctl ${commandOf(args).join(' ')} [options]`)
    const flags = args.filter((word) => word.startsWith('--'))
    expect(flags.filter((flag) => !new RegExp(`^ +${flag} `, 'm').test(text))).toEqual([])
  })

  test.each(PATIENCE)('%s allows 15 s to stop after the drain delay', (_, seconds, args) => {
    const at = args.indexOf('--drain-delay')
    const delay = at < 0 ? CUSTOMARY_DELAY : Number(args[at + 1]) / 1000
    expect(seconds).toBeGreaterThan(delay + STOPPING)
  })

  test.each(['environment of the image', 'unit', 'Deployment'])('the %s contains only documented variables', (who) => {
    const named = {
      'environment of the image': Object.keys(imageEnvironment),
      unit: (unit.get('Environment') ?? []).flatMap((line) => line.split(' ')).map((pair) => pair.split('=')[0] ?? ''),
      Deployment: (containerOf('Deployment')['env'] as unknown as { name: string }[]).map(({ name }) => name),
    }[who]
    const page = read('docs/environment.md')
    expect(named?.length).toBeGreaterThan(0)
    expect(named?.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
  })

  test('migrations are applied before serving, by a separate command', () => {
    const serving = COMMANDS.filter(([, args]) => args[0] === 'serve')
    expect(serving).toHaveLength(4)
    expect(serving.filter(([, args]) => args.includes('--migrate'))).toEqual([])
    expect(compose['service']?.['depends_on']?.['migrate']).toEqual({ condition: 'service_completed_successfully' })
    expect(compose['migrate']?.['depends_on']?.['database']).toEqual({ condition: 'service_healthy' })
    expect(compose['database']?.['healthcheck']?.['test']).toContain('pg_isready')
  })
})

describe('the image', () => {
  const stages = dockerfile
    .filter(({ name }) => name === 'FROM')
    .map(({ words: [image = '', , alias] }) => ({ image, alias }))

  test('has stages based on a versioned image and on each other', () => {
    expect(stages.length).toBeGreaterThan(1)
    const aliases = stages.map(({ alias }) => alias)
    expect(stages.filter(({ image }) => !aliases.includes(image) && !/:\d/.test(image))).toEqual([])
  })

  test('installs from the lock file, without scripts of packages', () => {
    const installs = dockerfile.filter(({ name, text }) => name === 'RUN' && /\bnpm (?!run)/.test(text))
    expect(installs).toHaveLength(2)
    expect(installs.filter(({ text }) => !/^npm ci .*--ignore-scripts/.test(text))).toEqual([])
    expect(image.filter(({ text }) => /\bnpm\b/.test(text))).toEqual([])
  })

  test('does not run as root, and stops on the signal that finishes requests', () => {
    expect(image.filter(({ name }) => name === 'USER').map(({ text }) => text)).toEqual(['1000:1000'])
    expect(image.findIndex(({ name }) => name === 'USER')).toBeGreaterThan(
      image.findLastIndex(({ name }) => name === 'RUN'),
    )
    expect(instruction('STOPSIGNAL')).toBe('SIGTERM')
    expect(dockerfile.filter(({ name }) => name === 'ADD')).toEqual([])
  })

  test('uses exec forms for commands, so that no shell swallows a signal', () => {
    expect([...execForm('ENTRYPOINT'), ...execForm('CMD')]).toEqual(['node', 'bin/snippetctl.js', 'serve'])
    expect(execForm('HEALTHCHECK')).toEqual(['node', '-e', expect.stringContaining('/livez')])
  })

  const copies = dockerfile
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ words: list }) => list.slice(0, -1))

  test('receives all files that it copies, and nothing secret or large', () => {
    const [everything, ...kept] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(everything).toBe('*')
    const given = kept.map((line) => line.replace(/^!/, ''))
    expect(kept.filter((line) => !line.startsWith('!'))).toEqual([])
    expect(copies.filter((path) => !existsSync(path) || !given.includes(path.split('/')[0] ?? ''))).toEqual([])
    expect(given.filter((path) => !copies.some((copy) => copy.split('/')[0] === path))).toEqual([])
  })
})

describe('the published image', () => {
  const images = [
    ['compose, migrate', compose['migrate']?.['image']],
    ['compose, service', compose['service']?.['image']],
    ['Job', containerOf('Job')['image']],
    ['Deployment', containerOf('Deployment')['image']],
  ] as const

  test.each(images)('of %s has this version', (_, image) => {
    expect(image).toBe(`snippetctl:${version}`)
  })

  test('of PostgreSQL has a supported version', () => {
    expect(compose['database']?.['image']).toMatch(/^postgres:1[4-9]$/)
  })

  test.each(['Job', 'Deployment'])('of the %s has minimal privileges', (name) => {
    expect(podOf(name)['securityContext']).toMatchObject({ runAsNonRoot: true })
    expect(podOf(name)['automountServiceAccountToken']).toBe(false)
    expect(containerOf(name)['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(containerOf(name)['resources']?.['limits']).toHaveProperty('memory')
  })

  test.each(['migrate', 'service'])('of compose, %s, has minimal privileges', (name) => {
    expect(compose[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  })

  test.each(['deploy/compose.yaml', 'deploy/kubernetes/migrate.yaml', 'deploy/kubernetes/service.yaml'])(
    'receives no password from %s',
    (file) => expect(read(file)).not.toMatch(/postgres:\/\/\w+:(?!\$)|_PASSWORD: +[^$\s]/),
  )
})

describe('the Kubernetes objects', () => {
  test('are complete and refer to each other', () => {
    expect(cluster.map((one) => [one['apiVersion'], one['kind']])).toEqual([
      ['batch/v1', 'Job'],
      ['apps/v1', 'Deployment'],
      ['v1', 'Service'],
      ['policy/v1', 'PodDisruptionBudget'],
    ])
    const labels = objectOf('Deployment')['spec']?.['template']?.['metadata']?.['labels']
    expect(objectOf('Deployment')['spec']?.['selector']?.['matchLabels']).toEqual(labels)
    expect(objectOf('Service')['spec']?.['selector']).toEqual(labels)
    expect(objectOf('PodDisruptionBudget')['spec']?.['selector']?.['matchLabels']).toEqual(labels)
    expect(objectOf('Job')['spec']?.['template']?.['metadata']?.['labels']).not.toEqual(labels)
    expect(objectOf('PodDisruptionBudget')['spec']?.['maxUnavailable']).toBeLessThan(
      objectOf('Deployment')['spec']?.['replicas'] ?? 0,
    )
  })

  test("use the image's ports, and expose only the application's", () => {
    const ports = containerOf('Deployment')['ports'] as unknown as { name: string; containerPort: number }[]
    expect(ports).toEqual([
      { name: 'http', containerPort: Number(imageEnvironment['PORT']) },
      { name: 'admin', containerPort: Number(imageEnvironment['SNIPPETCTL_ADMIN_PORT']) },
    ])
    expect(image.find(({ name }) => name === 'EXPOSE')?.words.map(Number)).toEqual(
      ports.map(({ containerPort }) => containerPort),
    )
    const targets = (objectOf('Service')['spec']?.['ports'] as unknown as { targetPort: string }[]).map(
      (port) => port.targetPort,
    )
    expect(targets).toEqual(['http'])
    expect(compose['service']?.['ports']).toEqual([`127.0.0.1:8000:${imageEnvironment['PORT']}`])
  })

  test('notice that a pod is stopping before it stops', () => {
    const {
      periodSeconds = 0,
      failureThreshold = 0,
      timeoutSeconds = 0,
    } = (containerOf('Deployment')['readinessProbe'] ?? {}) as unknown as Readonly<Record<string, number>>
    const [, , args] = PATIENCE[2] ?? []
    expect(timeoutSeconds).toBeGreaterThan(1)
    expect(Number(args?.[args.indexOf('--drain-delay') + 1])).toBeGreaterThan(periodSeconds * failureThreshold * 1000)
  })
})

describe('the systemd unit', () => {
  test('is restarted after failures, and stopped by the signal that finishes requests', () => {
    expect(Object.fromEntries(['Restart', 'KillSignal', 'KillMode'].map((key) => [key, unit.get(key)]))).toEqual({
      Restart: ['on-failure'],
      KillSignal: ['SIGTERM'],
      KillMode: ['mixed'],
    })
  })

  test.each([
    'NoNewPrivileges',
    'ProtectSystem',
    'ProtectHome',
    'PrivateTmp',
    'SystemCallFilter',
    'CapabilityBoundingSet',
  ])('contains %s', (key) => expect(unit.has(key)).toBe(true))

  const analyze = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find((path) => existsSync(path))
  const withAnalyze = analyze === undefined ? test.skip : test

  withAnalyze('is right and well guarded, as systemd itself says', async () => {
    const project = await makeProject({
      'snippetctl.service': read(UNIT).replaceAll('/usr/bin/node', process.execPath),
    })
    const run = (...args: string[]) =>
      execFileSync(`${analyze}`, [...args, join(project.folder, 'snippetctl.service')], { encoding: 'utf8' })
    try {
      expect(run('verify', '--man=no')).toBe('')
      expect(run('security', '--offline=true', '--threshold=20')).toContain('Overall exposure level')
    } finally {
      await project.remove()
    }
  })
})
