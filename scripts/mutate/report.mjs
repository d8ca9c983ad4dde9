import { FOLDERS } from './plant.mjs'

const Z = 1.96
const NOTICED = new Set(['killed', 'timed out'])

/** Every figure of a run. No survivor is excluded as equivalent; such remarks belong next to the figures. */
export function report({ planted, verdicts, controls, seed, started }) {
  const parts = FOLDERS.map((folder) => ({
    folder,
    of: planted.mutants.filter(({ file }) => file.startsWith(`${folder}/`)).length,
    ...tally(verdicts.filter(({ file }) => file.startsWith(`${folder}/`))),
  }))
  const all = { folder: 'all', of: planted.mutants.length, ...tally(verdicts) }
  const seconds = Math.round((performance.now() - started) / 1000)
  return {
    seed,
    node: process.versions.node,
    date: new Date().toISOString().slice(0, 10),
    seconds,
    controls,
    parts: [...parts, all],
    verdicts,
  }
}

function tally(verdicts) {
  const count = (name) => verdicts.filter(({ verdict }) => verdict === name).length
  const noticed = verdicts.filter(({ verdict }) => NOTICED.has(verdict)).length
  const [low, high] = wilson(noticed, verdicts.length)
  return {
    sampled: verdicts.length,
    killed: count('killed'),
    timedOut: count('timed out'),
    survived: count('survived'),
    notReached: count('not reached'),
    score: percent(noticed / verdicts.length),
    low: percent(low),
    high: percent(high),
  }
}

/** The interval of Wilson, in which the share of all lies with a probability of 95 %. */
function wilson(hits, count) {
  if (count === 0) return [0, 1]
  const share = hits / count
  const middle = share + Z ** 2 / (2 * count)
  const width = Z * Math.sqrt((share * (1 - share)) / count + Z ** 2 / (4 * count ** 2))
  const scale = 1 + Z ** 2 / count
  return [(middle - width) / scale, (middle + width) / scale]
}

function percent(share) {
  return Number.isFinite(share) ? Math.round(share * 1000) / 10 : 0
}

/** The same for people, with every survivor. */
export function toText({ seed, seconds, controls, parts, verdicts }) {
  const rows = parts.map(
    ({ folder, of, sampled, killed, timedOut, survived, notReached, score, low, high }) =>
      `| ${folder} | ${of} | ${sampled} | ${killed} | ${timedOut} | ${survived} | ${notReached} | ${score} % (${low} to ${high} %) |`,
  )
  const left = verdicts
    .filter(({ verdict }) => !NOTICED.has(verdict))
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
    .map(({ file, line, column, verdict, mutator, original, replacement }) => {
      return `${file}:${line}:${column} ${verdict} ${mutator}: ${flat(original)} -> ${flat(replacement)}`
    })
  return [
    `seed ${seed}, ${seconds} s; of ${controls.count} controls, in which nothing was changed, ${controls.failed} failed`,
    '| folder | mutants | sampled | killed | timed out | survived | not reached | noticed (95 %) |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...left,
  ].join('\n')
}

function flat(text) {
  return text.replace(/\s+/g, ' ')
}
