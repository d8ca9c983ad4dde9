import fc from 'fast-check'

const { SNIPPETCTL_SEED = '1' } = process.env

if (!/^(?:new|-?\d{1,10})$/.test(SNIPPETCTL_SEED))
  throw new Error(`SNIPPETCTL_SEED=${SNIPPETCTL_SEED} must be \`new\` or an integer, such as -1893467218`)

// A run that is repeated draws the same cases; `new` draws others. A failure prints its seed.
if (SNIPPETCTL_SEED !== 'new') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SNIPPETCTL_SEED) })
