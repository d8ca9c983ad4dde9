import type { Trial } from './trial.js'
import { attack } from './trials/attack.js'
import { backups } from './trials/backups.js'
import { clock } from './trials/clock.js'
import { configurations } from './trials/configurations.js'
import { documents } from './trials/documents.js'
import { failover } from './trials/failover.js'
import { fullDisk } from './trials/full-disk.js'
import { fuzz } from './trials/fuzz.js'
import { kills } from './trials/kills.js'
import { loopDelay } from './trials/loop-delay.js'
import { manyResources } from './trials/many-resources.js'
import { memory } from './trials/memory.js'
import { migrators } from './trials/migrators.js'
import { network } from './trials/network.js'
import { nthCall } from './trials/nth-call.js'
import { oracles } from './trials/oracles.js'
import { outcomes } from './trials/outcomes.js'
import { overload } from './trials/overload.js'
import { pooler } from './trials/pooler.js'
import { restarts } from './trials/restarts.js'
import { rolling } from './trials/rolling.js'
import { slowClients } from './trials/slow-clients.js'
import { soak } from './trials/soak.js'
import { supplyChain } from './trials/supply-chain.js'
import { tutorial } from './trials/tutorial.js'

/** The whole campaign. A new trial is one file in `trials/` and one line here. */
export const CAMPAIGN: readonly Trial[] = [
  soak,
  fuzz,
  kills,
  restarts,
  rolling,
  network,
  nthCall,
  failover,
  slowClients,
  overload,
  configurations,
  migrators,
  fullDisk,
  manyResources,
  memory,
  pooler,
  oracles,
  tutorial,
  clock,
  supplyChain,
  backups,
  loopDelay,
  attack,
  outcomes,
  documents,
]
