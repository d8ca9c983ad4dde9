import { drive, type Drive } from './drive.js'

/** The process that sends requests; separate, so that its work is not attributed to anyone. */
process.on('message', (task: Drive) => {
  drive(task).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.send?.({ failure: String(error) })
    },
  )
})
