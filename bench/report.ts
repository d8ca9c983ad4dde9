import { loadavg } from 'node:os'
import type { Footprint, Measured, Results } from './measure.js'
import { median } from './statistics.js'
import { workNamed } from './works.js'

/** A table with a title. */
export interface Table {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A sample is disturbed if other processes used more than this part of the machine. */
const DISTURBED = 0.12

/** The maximum ratio of our slowest requests to those of the floor. */
const MAX_P99_RATIO = 1.2

/** The results as tables: one for each size, and the footprints. */
export function toTables({ measured, footprints }: Results): readonly Table[] {
  const sizes = [...new Set(measured.map(({ rows }) => rows))]
  return [...sizes.map((rows) => workTable(rows, measured)), footprintTable(footprints)]
}

function workTable(rows: number, measured: readonly Measured[]): Table {
  const here = measured.filter((one) => one.rows === rows)
  return {
    title: `${rows} rows`,
    head: [
      'work',
      'server',
      'req/s',
      'p50 ms',
      'p99 ms',
      'µs server',
      'µs children',
      'µs PostgreSQL',
      'of the floor',
      'p99 of the floor',
      'others',
    ],
    rows: here.map((one) => {
      const middle = (name: keyof Measured['samples'][number]) => median(one.samples.map((sample) => sample[name]))
      const floor = here.find(({ work, contestant }) => work === one.work && contestant === 'floor')
      return [
        workNamed(one.work).title,
        one.contestant,
        middle('perSecond').toFixed(0),
        middle('p50').toFixed(2),
        middle('p99').toFixed(2),
        middle('server').toFixed(1),
        middle('children').toFixed(1),
        middle('postgres').toFixed(1),
        floor ? cpuRatio(one, floor) : '',
        floor ? p99Ratio(one, floor) : '',
        `${(100 * middle('others')).toFixed(0)} %${middle('others') > DISTURBED ? ' *' : ''}`,
      ]
    }),
  }
}

/** The ratio of server CPU, and the target if there is one. */
function cpuRatio(one: Measured, floor: Measured): string {
  const cpu = ({ samples }: Measured) => median(samples.map(({ server, children }) => server + children))
  return withTarget(one, cpu(one) / cpu(floor), workNamed(one.work).target)
}

/** The ratio of the 99th percentile to the floor's. */
function p99Ratio(one: Measured, floor: Measured): string {
  const p99 = ({ samples }: Measured) => median(samples.map((sample) => sample.p99))
  return withTarget(one, p99(one) / p99(floor), MAX_P99_RATIO)
}

function withTarget({ contestant }: Measured, value: number, target: number | undefined): string {
  if (contestant !== 'ours' || target === undefined) return value.toFixed(2)
  return `${value.toFixed(2)} (at most ${target}: ${value <= target ? 'met' : 'missed'})`
}

function footprintTable(footprints: readonly Footprint[]): Table {
  return {
    title: 'Processes',
    head: ['rows', 'server', 'cold start ms', 'MB at the end', 'MB maximum'],
    rows: footprints.map(({ rows, contestant, coldStarts, memory }) => [
      String(rows),
      contestant,
      `${median(coldStarts).toFixed(0)} (${Math.min(...coldStarts).toFixed(0)}–${Math.max(...coldStarts).toFixed(0)})`,
      memory.now.toFixed(0),
      memory.most.toFixed(0),
    ]),
  }
}

/** Renders a table for a terminal or as Markdown. */
export function render({ title, head, rows }: Table, markdown: boolean): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0))
  const lines = [head, ...(markdown ? [widths.map((width) => '-'.repeat(width))] : []), ...rows].map(line)
  if (!markdown) return [title, ...lines.map((cells) => cells.join('  ').trimEnd())].join('\n')
  return [`### ${title}`, '', ...lines.map((cells) => `| ${cells.join(' | ')} |`)].join('\n')
}

/** What else the machine was doing. */
export function describeLoad(): string {
  return `load average ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}; * marks rows whose median sample lost more than ${100 * DISTURBED} % of the machine to other processes`
}
