const { startsProcesses, usesDatabase } = require('./tiers.cjs')

/** Keeps the test files that need neither a process nor a database. */
module.exports = (files) => ({ filtered: files.filter((file) => !startsProcesses(file) && !usesDatabase(file)) })
