/** How much more a test that reaches the mutant itself is worth than one that only loads it. */
const REACHING = 5
/** The time budget of a mutant in seconds, measured without mutation. */
const MOST_SECONDS = 30
const LOADING = 2
/** Tells apart, by their time, test files that only load a mutant's file. */
const LEAST_SHARE = 0.01

/**
 * The test files that may notice a mutant, the likeliest and quickest first: those that go through the most of its file.
 * @returns their names, and of each the names of the tests to run
 */
export function candidates({ id, file }, reached, most) {
  const chosen = []
  let spent = 0
  for (const one of reached
    .filter((test) => test.reached[id] !== undefined || test.loaded.has(id))
    .map(weigh)
    .sort(byWorth)) {
    if (chosen.length === most || spent > MOST_SECONDS) break
    chosen.push(one)
    spent += one.seconds
  }
  return {
    files: chosen.map(({ name }) => name),
    only: Object.fromEntries(chosen.map(({ name, tests }) => [name, tests])),
  }

  function weigh({ file: name, tests, times, reached: places, shares }) {
    const own = places[id] ?? '*'
    const seconds = LOADING + (own === '*' ? sum(times) : sum(own.map((at) => times[at])))
    // The square, because who goes through all of a file asks also for what seldom happens.
    const share = Math.max(shares[file] ?? 0, LEAST_SHARE) ** 2
    const worth = ((places[id] === undefined ? 1 : REACHING) * share) / Math.sqrt(seconds)
    return { name, seconds, worth, tests: own === '*' ? tests : own.map((at) => tests[at]) }
  }
}

function byWorth(a, b) {
  return b.worth - a.worth
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0)
}
