import type { MetricObjectWithValues, MetricValue, MetricValueWithName } from 'prom-client'
import type { ReplicaUse, Usage } from '../db/database.js'
import type { StatementCounts } from '../db/statements/prepared-statements.js'
import { DURATIONS, type RouteTraffic, type Tally, type Traffic } from '../http/connections/traffic.js'

/** Where metrics are read from. */
export interface Sources {
  readonly traffic: Traffic
  readonly usage: () => Usage
  /** Undefined without a replica. */
  readonly replica: ReplicaUse | undefined
  readonly statements: () => Readonly<StatementCounts>
  readonly drifted: () => readonly string[]
}

/** The metrics of one process at one moment, as plain data that can be sent to another process. */
export type Metrics = MetricObjectWithValues<MetricValue<string>>[]

/** One metric: its name, its help text, and its values by label. */
interface Series {
  readonly type: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly label?: string
  readonly read: (sources: Sources) => readonly (readonly [label: string, value: number])[]
}

function one(value: number) {
  return [['', value]] as const
}

const SERIES: readonly Series[] = [
  {
    type: 'gauge',
    name: 'http_requests_in_progress',
    help: 'Requests in progress.',
    read: ({ traffic }) => one(traffic.open),
  },
  {
    type: 'counter',
    name: 'snippetctl_validator_gaps_total',
    help: 'Writes that passed validation and were rejected by the database.',
    read: ({ traffic }) => one(traffic.gaps),
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_connections_max',
    help: 'Maximum number of connections in the pool.',
    read: ({ usage }) => one(usage().max),
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_connections',
    help: 'Connections of the pool.',
    label: 'state',
    read: ({ usage }) => {
      const { open, idle } = usage()
      return [
        ['busy', open - idle],
        ['idle', idle],
      ]
    },
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_waiting',
    help: 'Statements and transactions that wait for a connection.',
    read: ({ usage }) => one(usage().waiting),
  },
  {
    type: 'counter',
    name: 'snippetctl_database_rejected_total',
    help: 'Statements and transactions rejected because the queue was full.',
    read: ({ usage }) => one(usage().rejected),
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_pipelined_connections',
    help: 'Connections for pipelined reads.',
    read: ({ usage }) => one(usage().pipelinedConnections),
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_pipelined_statements',
    help: 'Pipelined reads in progress.',
    read: ({ usage }) => one(usage().pipelinedStatements),
  },
  {
    type: 'gauge',
    name: 'snippetctl_database_replica',
    help: 'Processes whose reads go to the replica (used), or to the primary because it is unavailable or too far behind (unused).',
    label: 'state',
    read: ({ replica }) => {
      const isUsed = replica?.isUsed()
      if (isUsed === undefined) return []
      return [
        ['used', Number(isUsed)],
        ['unused', Number(!isUsed)],
      ]
    },
  },
  {
    type: 'gauge',
    name: 'snippetctl_statements_cached',
    help: 'Cached SQL texts; a text is prepared from its second use on.',
    read: ({ statements }) => one(statements().kept),
  },
  {
    type: 'counter',
    name: 'snippetctl_statements_evicted_total',
    help: 'SQL texts evicted from the cache, because requests vary more than it can hold.',
    read: ({ statements }) => one(statements().unkept),
  },
  {
    type: 'gauge',
    name: 'snippetctl_drifted_tables',
    help: 'Tables that do not match the configuration; their routes, or those that create records, return 503.',
    read: ({ drifted }) => one(drifted().length),
  },
]

/** Returns a function that reads the metrics of this process, including Node's own. From now on, prom-client observes garbage collections and the delay of the event loop; all other values are read when the function is called. */
export async function createMetrics(sources: Sources): Promise<() => Promise<Metrics>> {
  // Loaded here, because a service without metrics never needs it.
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await load()
  const registry = new Registry()
  const registers = [registry]
  for (const { type, name, help, label, read } of SERIES) {
    const shape = { name, help, registers, labelNames: label === undefined ? [] : [label] }
    const labelled = (text: string) => (label === undefined ? {} : { [label]: text })
    const metric = type === 'gauge' ? new Gauge(shape) : new Counter(shape)
    const get = metric.get.bind(metric)
    metric.get = () => {
      metric.reset()
      for (const [text, value] of read(sources)) metric.inc(labelled(text), value)
      return get()
    }
  }
  const access = new Counter({
    name: 'snippetctl_access_total',
    help: 'Finished requests by route and outcome: allowed, unauthenticated or forbidden.',
    labelNames: ['route', 'outcome'],
    registers,
  })
  const describedAccess = await access.get()
  access.get = async () => ({ ...describedAccess, values: [...sources.traffic.routes()].flatMap(outcomesOf) })
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of finished requests by route, method and class of status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const described = await durations.get()
  durations.get = async () => ({ ...described, values: [...sources.traffic.routes()].flatMap(durationsOf) })
  collectDefaultMetrics({ register: registry })
  return () => registry.getMetricsAsJSON()
}

/** Adds up the metrics of several processes. */
export async function addMetrics(all: readonly Metrics[]): Promise<Metrics> {
  return (await aggregate(all)).getMetricsAsJSON()
}

/** The metrics of an ended process that still count: its counters and histograms. */
export function lastingMetrics(metrics: Metrics): Metrics {
  const lasting: readonly unknown[] = ['counter', 'histogram']
  return metrics.filter(({ type }) => lasting.includes(type))
}

/** The metrics of several processes in the text format of Prometheus. */
export async function renderMetrics(
  all: readonly Metrics[],
): Promise<{ readonly type: string; readonly text: string }> {
  const registry = await aggregate(all)
  return { type: registry.contentType, text: await registry.metrics() }
}

async function aggregate(all: readonly Metrics[]) {
  const { AggregatorRegistry } = await load()
  return AggregatorRegistry.aggregate([...all])
}

async function load() {
  const { default: client } = await import('prom-client')
  return client
}

function durationsOf({ route, tallies }: RouteTraffic): MetricValueWithName<string>[] {
  const labels = { method: route?.method ?? 'any', route: route?.name ?? 'none' }
  return tallies.flatMap((tally) => (tally ? valuesOf(tally, labels) : []))
}

function outcomesOf({ route, access }: RouteTraffic): MetricValue<string>[] {
  return Object.entries(access).flatMap(([outcome, value]) =>
    value === 0 ? [] : [{ labels: { route: route?.name ?? 'none', outcome }, value }],
  )
}

/** Buckets are cumulative, as Prometheus requires. */
function valuesOf(
  { status, durations, time }: Tally,
  of: Readonly<Record<string, string>>,
): MetricValueWithName<string>[] {
  const labels = { ...of, status }
  const metricName = 'http_request_duration_seconds'
  let count = 0
  const buckets = durations.map((amount, at) => {
    const limit = DURATIONS[at]
    const le = limit === undefined ? '+Inf' : limit / 1000
    return { metricName: `${metricName}_bucket`, labels: { le, ...labels }, value: (count += amount) }
  })
  return [
    ...buckets,
    { metricName: `${metricName}_sum`, labels, value: time / 1000 },
    { metricName: `${metricName}_count`, labels, value: count },
  ]
}
