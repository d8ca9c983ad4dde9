/** A Jest reporter that names every test that did not run, so that a green run never hides what it left out. */
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
