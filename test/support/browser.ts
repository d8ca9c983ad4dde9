import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe } from '@jest/globals'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's builds, the one without windows first: most of the time of a page in the other one is spent on the windows. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync)
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Tests that are skipped if Debian's Chromium is not installed. */
export const describeInChromium: (name: string, tests: () => void) => void = CHROMIUM ? describe : describe.skip

/** Starts Chromium with a temporary profile. */
export async function openChromium(viewport = { width: 1180, height: 760 }): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'snippetctl-chromium-'))
  const context = await chromium.launchPersistentContext(profile, {
    ...(CHROMIUM && { executablePath: CHROMIUM }),
    args: FLAGS,
    viewport,
  })
  context.on('close', () => rm(profile, { recursive: true, maxRetries: 5 }))
  return context
}

/**
 * Collects what is wrong with a page: errors and warnings in its console, and requests to other servers than the one at `url`, which are blocked.
 * @param spares whether to ignore a console message
 */
export async function listenForComplaints(
  page: Page,
  url: string,
  spares: (text: string, from: string) => boolean = () => false,
): Promise<readonly string[]> {
  const complaints: string[] = []
  await page.route('**', (route) => {
    if (route.request().url().startsWith(url)) return route.continue()
    complaints.push(`asked for ${route.request().url()}`)
    return route.abort()
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const isComplaint = ['error', 'warning'].includes(message.type())
    if (isComplaint && !spares(message.text(), message.location().url)) complaints.push(message.text())
  })
  return complaints
}

/** Opens a page, and collects its complaints except failed requests. */
export async function openPage(context: BrowserContext, url: string) {
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const complaints = await listenForComplaints(page, url, (text) => text.startsWith('Failed to load resource'))
  return { page, complaints }
}

/** Returns the violations that axe-core finds on the page. It does not describe the rules that the page keeps, which would take longer than the checks. */
export async function findFaults(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) {
    await page.evaluate(await readFile(resolve('node_modules/axe-core/axe.min.js'), 'utf8'))
  }
  const violations = await page.evaluate<
    readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  >("axe.run({ resultTypes: ['violations'], selectors: false }).then(({ violations }) => violations)")
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
}
