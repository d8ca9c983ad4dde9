/** Nothing from elsewhere, nothing inline, in no frame; what forms send goes to where the page came from. */
const policyWith = (images: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${images}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** The headers of a page for people; `images` is where its pictures may come from. */
export function pageHeaders(images = "'self'"): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyWith(images),
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
}
