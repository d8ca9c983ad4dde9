import type { FieldType } from '../field-type.js'
import { formattedText } from '../text-rules.js'

/** The URL of a page. */
export const url: FieldType<string> = {
  ...formattedText({
    max: 2000,
    // The characters of RFC 3986, which `format: uri` means; the WHATWG parser would accept others and repair them.
    pattern: "^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._~:/?#@!$&'()*+,;=\\[\\]-]|%[0-9A-Fa-f][0-9A-Fa-f])+$",
    isValid: (text) => URL.canParse(text),
    format: 'uri',
    message: 'must be an absolute URL such as https://example.com/a?b=1, with other characters percent-encoded',
  }),
  name: 'url',
  summary:
    'An absolute `http` or `https` URL by the WHATWG URL standard; characters outside RFC 3986 must be percent-encoded. ' +
    'At most 2000 characters. It is returned unchanged.',
  input: 'url',
  examples: [
    { json: 'https://example.com/', text: 'https://example.com/', value: 'https://example.com/' },
    {
      json: "HTTP://user@xn--bcher-kva.example:8080/a%20b/?c=d,e&f='#g",
      text: "HTTP://user@xn--bcher-kva.example:8080/a%20b/?c=d,e&f='#g",
      value: "HTTP://user@xn--bcher-kva.example:8080/a%20b/?c=d,e&f='#g",
    },
    { json: 'http://[2001:db8::1]/', text: 'http://[2001:db8::1]/', value: 'http://[2001:db8::1]/' },
  ],
}
