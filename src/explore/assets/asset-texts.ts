import { LIST_KEYS_SCRIPT, LIST_SCRIPT } from './list-script.js'
import { LIST_STYLE } from './list-style.js'
import { PICKER_SCRIPT } from './picker-script.js'
import { RECORD_SCRIPT } from './record-script.js'
import { SCRIPT } from './script.js'
import { SIGN_IN_SCRIPT } from './sign-in-script.js'
import { STYLE } from './style.js'

/** The style sheet and the scripts of the pages, by file name. The build replaces this module by one with shorter, equivalent texts. */
export const TEXTS: Readonly<Record<string, string>> = {
  'explore.css': STYLE + LIST_STYLE,
  'explore.js': SCRIPT + PICKER_SCRIPT,
  'explore-list.js': LIST_SCRIPT + LIST_KEYS_SCRIPT,
  'explore-record.js': RECORD_SCRIPT,
  'explore-sign-in.js': SIGN_IN_SCRIPT,
}
