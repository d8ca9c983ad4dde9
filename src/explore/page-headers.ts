/** No foreign resources, no inline code, no frames; forms are sent only to the page's own origin. */
function policyWith(images: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${images}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The headers of an HTML page; `images` is the allowed source of images. */
export function pageHeaders(images = "'self'"): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyWith(images),
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
}
