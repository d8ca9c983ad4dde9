/** The first import of the copy's host of command lines. */
import { mutants, tellReached } from './started.mjs'
import { readTask } from './task.mjs'

const { send } = process

process.on('message', () => {
  mutants.currentTestId = readTask().test
})
process.send = (...outcome) => {
  tellReached()
  return send.apply(process, outcome)
}
