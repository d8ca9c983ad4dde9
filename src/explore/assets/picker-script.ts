/** The script of inputs for relations: a list of records that fit what is typed, as the API lists them to this client. It follows `script.ts`. */
export const PICKER_SCRIPT = String.raw`;(() => {
  const NUMBER = /^-?\d+$/
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties)
  for (const box of document.querySelectorAll('[data-picker]')) {
    const input = box.querySelector('input')
    const [list, name] = [box.querySelector('ul'), box.querySelector('.picked')]
    const { path, key, label, search, most, record } = box.dataset
    const shown = [input.value, name.textContent]
    let timer, asked, active = -1

    const say = (words, isWrong) => {
      name.textContent = words
      name.classList.toggle('error', !!isWrong)
    }
    const close = () => {
      clearTimeout(timer)
      asked = undefined
      list.hidden = true
      active = -1
      input.setAttribute('aria-expanded', 'false')
      input.removeAttribute('aria-activedescendant')
    }
    const mark = (index) => {
      const options = list.querySelectorAll('[data-value]')
      if (!options.length) return
      active = (index + options.length) % options.length
      options.forEach((option, at) => option.setAttribute('aria-selected', String(at === active)))
      input.setAttribute('aria-activedescendant', options[active].id)
      options[active].scrollIntoView({ block: 'nearest' })
    }
    const pick = (option) => {
      input.value = option.dataset.value
      input.dispatchEvent(new Event('input', { bubbles: true }))
      say(option.dataset.name)
      close()
    }
    const nameOf = (row) => {
      const words = label ? row[label] : Object.entries(row).find(([member, value]) => typeof value === 'string' && member !== 'url' && member !== key)?.[1]
      return words == null ? '' : String(words).slice(0, 80)
    }
    const optionOf = (row, index) => {
      const option = make('li', { id: list.id + '-' + index, role: 'option' })
      option.dataset.value = row[key]
      option.dataset.name = nameOf(row)
      option.setAttribute('aria-selected', 'false')
      option.append(make('span', { textContent: option.dataset.name, dir: 'auto' }), ' ', make('span', { textContent: row[key], className: 'dim' }))
      return option
    }
    const note = (words) => make('li', { role: 'option', ariaDisabled: 'true', className: 'dim', textContent: words })
    // Shows the name of the record whose key was typed.
    const check = async (typed) => {
      if (!record || !typed) return
      const response = await fetch(record + encodeURIComponent(typed) + '/')
      const words = response.ok ? nameOf(await response.json()) : response.status === 404 ? 'No record has this key' : ''
      if (input.value.trim() === typed) say(words, !response.ok)
    }
    const propose = async () => {
      const typed = input.value.trim()
      const url = path + (search && typed ? (path.includes('?') ? '&' : '?') + search + '=' + encodeURIComponent(typed) : '')
      const mine = (asked = {})
      const response = await fetch(url)
      const answer = response.ok ? await response.json() : []
      if (asked !== mine) return
      const rows = Array.isArray(answer) ? answer : Object.values(answer).find(Array.isArray) || []
      // A number that is not exact here would be the id of another record.
      const known = rows.filter((row) => typeof row[key] === 'string' || Number.isSafeInteger(row[key]))
      const options = known.map(optionOf).filter((option) => search || !typed || option.textContent.toLowerCase().includes(typed.toLowerCase())).slice(0, 10)
      const none = !search && rows.length >= most ? 'None of the first ' + most + ' records fits: type a key' : 'No record fits'
      list.replaceChildren(...(options.length ? options : [note(response.ok ? none : 'The list answered ' + response.status)]))
      list.hidden = false
      input.setAttribute('aria-expanded', 'true')
      list.scrollIntoView({ block: 'nearest' })
      active = -1
      input.removeAttribute('aria-activedescendant')
      // Enter picks the first record for words, but leaves a typed key as it is.
      if (typed && !NUMBER.test(typed)) mark(Math.max(0, options.findIndex(({ dataset }) => dataset.value === typed)))
      const same = known.find((row) => String(row[key]) === typed)
      if (same) say(nameOf(same))
      // Words may be a key, too, once the reader leaves the input.
      else if (NUMBER.test(typed)) await check(typed)
    }
    const ask = () => propose().catch(close)

    input.addEventListener('input', (event) => {
      say(input.value === shown[0] ? shown[1] : '')
      clearTimeout(timer)
      if (event.isTrusted) timer = setTimeout(ask, 200)
    })
    input.addEventListener('click', () => { if (list.hidden) ask() })
    input.addEventListener('blur', close)
    input.addEventListener('change', () => { if (!name.textContent) check(input.value.trim()).catch(() => {}) })
    input.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault()
        if (list.hidden) ask()
        else mark(active + (event.key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1))
      }
      if (list.hidden || (event.key !== 'Enter' && event.key !== 'Escape')) return
      // The dialog stays open.
      if (event.key === 'Escape' || active >= 0) event.preventDefault()
      if (event.key === 'Enter' && active >= 0) pick(list.querySelectorAll('[data-value]')[active])
      else close()
    })
    list.addEventListener('pointerdown', (event) => event.preventDefault())
    list.addEventListener('click', (event) => {
      const option = event.target.closest('[data-value]')
      if (option) pick(option)
    })
    input.form.addEventListener('reset', () => say(shown[1]))
  }
})()
`
