/** A Jest reporter that names every skipped test, so that a green run hides none. */
export default class NameSkipped {
  onRunComplete(_contexts, results) {
    const skipped = results.testResults.flatMap((file) =>
      file.testResults
        .filter((test) => test.status === 'pending' || test.status === 'todo')
        .map((test) => test.fullName),
    )
    if (skipped.length === 0) return
    process.stderr.write(`\nNot run (${skipped.length}):\n${skipped.map((name) => `  ${name}\n`).join('')}`)
  }
}
