import { drive, type Drive } from './drive.js'

/** The process that sends the requests: apart, so that its own work is in nobody's account. */
process.on('message', (task: Drive) => {
  drive(task).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.send?.({ failure: String(error) })
    },
  )
})
