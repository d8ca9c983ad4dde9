import { expect, test } from '@jest/globals'
import { readSettings } from '../../src/settings.js'

test.each(['constructor', 'valueof', 'max_page_size'])(
  'a setting named %s has its default unless it is set',
  (name) => {
    const settings = readSettings({}, {}, true)
    expect(settings.declare(name, { type: 'integer' }, 5)).toBe(5)
    expect(settings.rejections()).toEqual([])
  },
)
