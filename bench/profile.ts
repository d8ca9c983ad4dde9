import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BenchServer, loadRows } from './cluster.js'
import { type Contestant, HOME } from './contestants.js'
import type { Loader } from './loader.js'
import type { Options } from './options.js'
import type { Table } from './report.js'
import { startServer } from './server.js'
import { workNamed } from './works.js'

interface Parts {
  readonly options: Options
  readonly postgres: BenchServer
  readonly loader: Loader
  readonly contestant: Contestant
  readonly work: string
}

/** A function, by its position; lines and columns start at 0. */
interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

/** The parts of V8's file that are needed. Times are in microseconds. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly children?: readonly number[]
    readonly callFrame: CallFrame
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface Cost {
  readonly function: string
  readonly place: string
  /** The nearest function on the stack outside Node itself, which caused the call. */
  readonly owner: string
  readonly time: number
}

/** Microseconds between samples; more samples would distort the result. */
const INTERVAL = 500
const MAX_FUNCTIONS = 45

/** Profiles a contestant under a work, by position and by function. The start is left out. */
export async function profile({ options, postgres, loader, contestant, work }: Parts): Promise<readonly Table[]> {
  const rows = options.rows[0] ?? 1_000
  const url = await loadRows(postgres, rows)
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-profile-'))
  try {
    const node = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${INTERVAL}`]
    const { port, stop } = await startServer({ contestant, url, node })
    const task = { port, spec: workNamed(work).request(rows), rows, connections: options.connections }
    await loader.drive({ ...task, milliseconds: options.duration })
    const { requests, elapsed } = await loader.drive({ ...task, milliseconds: options.duration })
    const ended = performance.now()
    await stop()
    const after = performance.now() - ended
    return toTables(costsOf(inSources(readProfile(directory)), { elapsed, after }), requests, work)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The profile of the main thread. */
function readProfile(directory: string): CpuProfile {
  const file = readdirSync(directory).find((name) => /\.0\.\d+\.cpuprofile$/.test(name))
  if (file === undefined) throw new Error('the server wrote no profile')
  return JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile
}

/** Maps each function to its position in the source, because bundles run. */
function inSources(profile: CpuProfile): CpuProfile {
  const maps = new Map<string, SourceMap | undefined>()
  const inSource = (frame: CallFrame): CallFrame => {
    if (!maps.has(frame.url)) maps.set(frame.url, readMap(frame.url))
    const entry = maps.get(frame.url)?.findEntry(frame.lineNumber, frame.columnNumber)
    if (entry === undefined || !('originalSource' in entry)) return frame
    const url = new URL(entry.originalSource, frame.url).href
    return { ...frame, url, lineNumber: entry.originalLine, columnNumber: entry.originalColumn }
  }
  return { ...profile, nodes: profile.nodes.map((node) => ({ ...node, callFrame: inSource(node.callFrame) })) }
}

function readMap(url: string): SourceMap | undefined {
  const file = url.startsWith('file://') ? `${fileURLToPath(url)}.map` : ''
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload) : undefined
}

/** The self time of every function within the `elapsed` milliseconds that ended `after` milliseconds before the end of the profile. */
function costsOf(
  { nodes, samples, timeDeltas }: CpuProfile,
  { elapsed, after }: { elapsed: number; after: number },
): readonly Cost[] {
  const total = timeDeltas.reduce((sum, delta) => sum + delta, 0)
  const until = total - 1000 * after
  const since = until - 1000 * elapsed
  const times = new Map<number, number>()
  let at = 0
  samples.forEach((id, index) => {
    at += timeDeltas[index] ?? 0
    // A node runs from its sample until the next one.
    if (at >= since && at < until) times.set(id, (times.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0))
  })
  const owners = ownersOf(nodes)
  return nodes.map((node) => ({
    function: nameOf(node),
    place: placeOf(node.callFrame.functionName, shorten(node.callFrame.url)),
    owner: owners.get(node.id) ?? '',
    time: times.get(node.id) ?? 0,
  }))
}

/** For each node, the nearest one on its stack that is in a file of a package or of ours. */
function ownersOf(nodes: CpuProfile['nodes']): ReadonlyMap<number, string> {
  const owners = new Map<number, string>()
  // Nodes precede their children.
  for (const node of nodes) {
    const isNodes = node.callFrame.url === '' || node.callFrame.url.startsWith('node:')
    const owner = isNodes ? (owners.get(node.id) ?? 'Node itself') : nameOf(node)
    owners.set(node.id, owner)
    for (const child of node.children ?? []) owners.set(child, owner)
  }
  return owners
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: CpuProfile['nodes'][number]): string {
  const name = functionName || '(anonymous)'
  return url === '' ? name : `${name}  ${shorten(url)}:${lineNumber + 1}`
}

function shorten(url: string): string {
  const path = url.startsWith('file://') ? fileURLToPath(url) : url
  return path.replace(/^.*\/node_modules\//, '').replace(HOME, '')
}

function placeOf(name: string, file: string): string {
  if (/^(?:dist|src|cli)\//.test(file)) return file
  if (file.startsWith('node:')) return file
  if (file === '') return name.startsWith('(') ? name : 'native'
  return file
    .split('/')
    .slice(0, file.startsWith('@') ? 2 : 1)
    .join('/')
}

function toTables(costs: readonly Cost[], requests: number, work: string): readonly Table[] {
  const busy = costs.filter(({ function: name }) => name !== '(idle)')
  const all = busy.reduce((sum, { time }) => sum + time, 0)
  const table = (title: string, by: 'function' | 'place' | 'owner', most: number): Table => {
    const sums = new Map<string, number>()
    for (const cost of busy) sums.set(cost[by], (sums.get(cost[by]) ?? 0) + cost.time)
    const first = [...sums].sort(([, a], [, b]) => b - a).slice(0, most)
    const rows = first.map(([name, time]) => [
      `${((100 * time) / all).toFixed(1)} %`,
      (time / requests).toFixed(2),
      name,
    ])
    return { title, head: ['of all', 'µs each', by], rows }
  }
  return [
    table(`${work}: self time by place (${requests} requests, ${(all / requests).toFixed(1)} µs each)`, 'place', 30),
    table(`${work}: self time by function`, 'function', MAX_FUNCTIONS),
    table(
      `${work}: by the function that had it done, Node's own functions and system calls included`,
      'owner',
      MAX_FUNCTIONS,
    ),
  ]
}
