import type { Locator, Page } from 'playwright-core'

/** A person at a keyboard and a pointer, whose key presses and clicks are counted. */
export interface Hands {
  press(key: string): Promise<void>
  /** Each character is a key press. */
  type(text: string): Promise<void>
  /** Presses Alt with a key, which is one press. */
  accessKey(key: string): Promise<void>
  /** Presses Tab until the focus is on the element with this name. */
  tabTo(name: string): Promise<void>
  /** The same backwards, with Shift. */
  tabBackTo(name: string): Promise<void>
  click(target: Locator, times?: number): Promise<void>
  /** Clicks an option of an open select, whose list the browser draws outside of the page. */
  pick(select: Locator, option: string): Promise<void>
  /** Goes back by the browser: a press of Alt and the arrow, or a click of its button. */
  back(): Promise<void>
  /** Returns the path of the file that was downloaded. */
  downloaded(): Promise<string>
  keys(): number
  clicks(): number
}

const MAX_TABS = 150
const FOCUSED = `(() => {
  const { activeElement: it } = document
  return it.getAttribute('aria-label') || (it.labels && it.labels[0] && it.labels[0].textContent.trim()) || it.textContent.trim()
})()`

/** Creates the hands of a page, before it is opened. */
export async function createHands(page: Page): Promise<Hands> {
  const session = await page.context().newCDPSession(page)
  const download = page.waitForEvent('download').catch(() => undefined)
  let [keys, clicks] = [0, 0]
  let usesPointer = false

  async function press(key: string): Promise<void> {
    keys += 1
    await page.keyboard.press(key)
  }

  async function tab(key: string, name: string): Promise<void> {
    for (let presses = 0; presses < MAX_TABS; presses += 1) {
      await press(key)
      if ((await page.evaluate<string>(FOCUSED)) === name) return
    }
    throw new Error(`${key} never came to ${name}`)
  }

  return {
    press,
    async type(text) {
      keys += text.length
      await page.keyboard.type(text)
    },
    async accessKey(key) {
      keys += 1
      // Playwright's keyboard leaves out the text by which Chromium finds the element.
      const event = { key, text: key, unmodifiedText: key, modifiers: 1 }
      await session.send('Input.dispatchKeyEvent', {
        type: 'keyDown',
        ...event,
        windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0),
      })
    },
    tabTo: (name) => tab('Tab', name),
    tabBackTo: (name) => tab('Shift+Tab', name),
    async click(target, times = 1) {
      usesPointer = true
      clicks += times
      await target.click({ clickCount: times })
    },
    async pick(select, option) {
      clicks += 1
      await select.selectOption(option)
    },
    async back() {
      if (usesPointer) clicks += 1
      else keys += 1
      await page.goBack()
    },
    async downloaded() {
      return (await (await download)?.path()) ?? ''
    },
    keys: () => keys,
    clicks: () => clicks,
  }
}
