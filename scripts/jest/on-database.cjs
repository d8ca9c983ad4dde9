const { usesDatabase } = require('./tiers.cjs')

/** Keeps the test files that use a database. The others do the same whichever the database under test is. */
module.exports = (files) => ({ filtered: files.filter(usesDatabase) })
