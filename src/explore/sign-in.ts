import type { Problem } from '../foundation/problem.js'
import { assetUrl } from './assets/assets.js'
import { type Html, html } from './html.js'
import type { Explored } from './place.js'

/** The script that sends the caller's credential. It runs before the page is shown, because the caller may get a different page. */
export function signInScript({ auth }: Explored): Html | undefined {
  return (
    auth &&
    html`
<script src="${assetUrl('explore-sign-in.js')}"></script>`
  )
}

/** Attributes that say for whom the page was made, and how curl sends the same credential. */
export function callerOf({ caller, credential }: Explored): Html | undefined {
  return (
    caller &&
    html` data-caller="${caller.subject}"${credential !== undefined && html` data-credential="${credential}"`}`
  )
}

/** The part of the heading that shows the caller, with buttons to sign in as another caller or to sign out. */
export function callerMenu(explored: Explored): Html | undefined {
  const { auth, caller } = explored
  if (!auth) return undefined
  const roles = caller && caller.roles.length > 0 && html` <span class="dim">${caller.roles.join(', ')}</span>`
  const other = identities(explored).length > 0 ? 'Act as' : 'Sign in as'
  return html`<span class="who js">${
    caller
      ? html`<bdi>${caller.subject}</bdi>${roles} <button type="button" class="small" data-open="sign-in">${other}…</button> <button type="button" class="small" data-sign-out>Sign out</button>`
      : html`<button type="button" class="small" data-open="sign-in">Sign in</button>`
  }</span>
<dialog id="sign-in" aria-labelledby="sign-in-title"><h2 id="sign-in-title">${caller ? `${other} another caller` : 'Sign in'}</h2>${signInForm(explored, 'dialog')}<footer role="none"><button type="button" class="plain" data-close>Cancel</button></footer></dialog>`
}

/** The content of a page that the caller may see only after signing in. */
export function signInMain(explored: Explored, { message, headers }: Problem): Html {
  const isInvalid = headers['WWW-Authenticate']?.includes('error=')
  return html`<div class="head"><h1>Sign in</h1></div>
<p class="lead">This API shows the page only to callers with a credential.</p>
${isInvalid && html`<p class="error">${message}</p>`}
<noscript><p>Signing in here requires JavaScript, which sends the credential with each request.</p></noscript>
<div class="js-block">${signInForm(explored, 'page')}</div>`
}

function signInForm(explored: Explored, place: 'page' | 'dialog'): Html {
  const id = `credential-${place}`
  const known = identities(explored)
  return html`<form data-sign-in autocomplete="off">
<p><label for="${id}">Token or API key</label>
<input id="${id}" type="password" required maxlength="8192" spellcheck="false" autocomplete="off" autofocus aria-describedby="${id}-hint ${id}-error">
<span class="hint" id="${id}-hint">It is kept until you sign out or close this tab, and is sent as <code>Authorization</code>.</span>
<span class="error" id="${id}-error" role="alert"></span></p>
<p><button class="primary">Sign in</button></p>
</form>${
    known.length > 0 &&
    html`<h2>In development, act as</h2>
<p class="actions">${known.map(
      ({ subject, roles }) =>
        html`<button type="button" data-act-as="${subject}">${subject}${roles.length > 0 && html`&nbsp;<span class="dim">${roles.join(', ')}</span>`}</button>`,
    )}</p>`
  }`
}

function identities({ auth, development }: Explored) {
  return development && auth ? auth.development : []
}
