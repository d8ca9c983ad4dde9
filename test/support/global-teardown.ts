/** Stops what the set-up has started, and nothing else. */
export default async function tearDown(): Promise<void> {
  await globalThis.testServer?.stop()
}
