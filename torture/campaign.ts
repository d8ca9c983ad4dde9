import type { Trial } from './trial.js'
import { fuzz } from './trials/fuzz.js'
import { kills } from './trials/kills.js'
import { restarts } from './trials/restarts.js'

/** The whole campaign. A new trial is one file in `trials/` and one line here. */
export const CAMPAIGN: readonly Trial[] = [fuzz, kills, restarts]
