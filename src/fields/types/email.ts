import type { FieldType } from '../field-type.js'
import { formattedText } from '../text-rules.js'

/** An email address. */
export const email: FieldType<string> = {
  ...formattedText({
    max: 254,
    // The pattern of `<input type="email">` in the HTML living standard.
    pattern:
      "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$",
    format: 'email',
    message: 'must be an email address such as ada@example.com',
  }),
  name: 'email',
  summary:
    'An email address that `<input type="email">` accepts: ASCII, at most 254 characters. It is returned unchanged.',
  input: 'email',
  examples: [
    { json: 'ada@example.com', text: 'ada@example.com', value: 'ada@example.com' },
    {
      json: "o'neil+a_b%c@mail.example.co",
      text: "o'neil+a_b%c@mail.example.co",
      value: "o'neil+a_b%c@mail.example.co",
    },
    { json: 'ADMIN@localhost', text: 'ADMIN@localhost', value: 'ADMIN@localhost' },
  ],
}
