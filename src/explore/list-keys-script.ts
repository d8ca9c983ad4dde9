/** The script of the keys of a list: arrows move between its rows, Enter opens a record, Delete asks about the selected records. */
export const LIST_KEYS_SCRIPT = String.raw`;(() => {
  const region = document.querySelector('.table[accesskey]')
  if (!region) return
  // The checkbox of a row, or the link to its record.
  const stops = [...region.querySelectorAll('[data-id], tr:not(:has([data-id])) > th:not(th ~ th) a')]
  region.addEventListener('keydown', (event) => {
    const { target, key } = event
    const at = stops.indexOf(target)
    if (at < 0 && target !== region) return
    const next = stops[at + { ArrowDown: 1, ArrowUp: -1 }[key]]
    if (next) {
      event.preventDefault()
      next.focus()
    }
    if (key === 'Enter' && target.dataset.id) target.closest('tr').querySelector('a').click()
    if (key === 'Delete') document.querySelector('[data-bulk]:not([hidden]) [data-for="bulk-delete"]:enabled')?.click()
  })
})()
`
