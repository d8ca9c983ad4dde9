/** The style sheet of the pages, light or dark as the reader's system prefers. */
export const STYLE = String.raw`:root {
  color-scheme: light dark;
  --bg: #f6f7f9; --card: #fff; --sunk: #f0f2f5; --line: #dde1e7; --text: #1b2130; --dim: #586174;
  --accent: #3451d1; --on-accent: #fff; --red: #b3261e; --red-bg: #fdeceb; --green: #10693c; --green-bg: #e3f5ea;
  --amber: #7d5200; --amber-bg: #fdf1d8; --blue-bg: #e9edfd; --shadow: 0 1px 2px #1b213014, 0 12px 40px #1b21302e;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0f1218; --card: #171b23; --sunk: #1e232d; --line: #2d3440; --text: #e7eaf0; --dim: #9fa8b8;
    --accent: #9db2ff; --on-accent: #10162b; --red: #ff9d95; --red-bg: #3a1a1a; --green: #7fdca6; --green-bg: #12301f;
    --amber: #f3c569; --amber-bg: #33270c; --blue-bg: #1d2647; --shadow: 0 1px 2px #0008, 0 12px 48px #000c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", sans-serif;
  display: grid; grid-template: "top top" auto "nav main" 1fr / 14rem minmax(0, 1fr); min-height: 100vh;
}
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
code, pre, .code { font-family: var(--mono); font-size: 13px; }
pre {
  margin: .5rem 0; padding: .7rem .9rem; background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; overflow: auto;
  max-height: 28rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
h1 { text-align: left; font-size: 1.6rem; line-height: 1.2; margin: 0; letter-spacing: -.015em; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.75rem 0 .6rem; }
.dim, .hint, .none { color: var(--dim); }
.js { display: none !important; }
.with-js .js { display: inline-flex !important; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .6rem; z-index: 9; background: var(--card); padding: .3rem .8rem; border-radius: 8px; }

.top { grid-area: top; background: var(--card); border-bottom: 1px solid var(--line); padding: .7rem 1.25rem; }
.who { float: right; gap: .5rem; align-items: center; }
.js-block { display: none; }
.with-js .js-block { display: block; }
[data-sign-in] { max-width: 34rem; }
#sign-in > :not(footer) { margin: 1.1rem 1.4rem; }
[data-sign-in] label { display: block; font-weight: 550; margin-bottom: .25rem; }
[data-sign-in] input { margin-bottom: .3rem; }
.home { display: inline-flex; gap: .6rem; align-items: center; color: var(--text); font-weight: 650; text-decoration: none; }
body > nav { grid-area: nav; padding: 1.1rem .75rem; border-right: 1px solid var(--line); min-width: 0; }
body > nav h2 { font-size: .75rem; font-weight: 600; color: var(--dim); margin: 0 .6rem .35rem; }
body > nav ul { list-style: none; margin: 0 0 1.25rem; padding: 0; }
body > nav a {
  display: block; padding: .3rem .6rem; border-radius: 7px; color: var(--text); text-decoration: none; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap;
}
body > nav a:hover { background: var(--sunk); }
body > nav a[aria-current] { background: var(--blue-bg); color: var(--accent); font-weight: 600; }
main { grid-area: main; padding: 1.5rem 1.75rem 4rem; max-width: 84rem; width: 100%; }

.head { display: flex; gap: 1rem; align-items: flex-end; justify-content: space-between; flex-wrap: wrap; }
.crumbs { font-size: 13px; margin-bottom: .2rem; color: var(--dim); }
.facts { margin: .5rem 0 1.1rem; font-size: 13px; }
.lead { max-width: 62ch; color: var(--dim); }
.actions { display: flex; gap: .5rem; flex-wrap: wrap; align-items: center; }

button, .button {
  display: inline-flex; align-items: center; font: inherit; font-weight: 550; line-height: 1.3; color: var(--text); background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; padding: .42rem .85rem; cursor: pointer; text-decoration: none;
}
button:hover, .button:hover { background: var(--sunk); }
button[disabled] { opacity: .6; cursor: progress; }
.small { padding: .16rem .6rem; font-size: 13px; }
.primary, .primary:hover { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.danger { color: var(--red); }
footer .danger, footer .danger:hover { background: var(--red); border-color: var(--red); color: var(--card); }
.primary:hover, footer .danger:hover { filter: brightness(1.08); }
.plain { background: none; }

.method { font: 650 11px/1 var(--mono); padding: .22rem .4rem; border-radius: 5px; color: var(--dim); background: var(--sunk); }
.method.get { color: var(--green); background: var(--green-bg); }
.method.post { color: var(--accent); background: var(--blue-bg); }
.method.put, .method.patch { color: var(--amber); background: var(--amber-bg); }
.method.delete { color: var(--red); background: var(--red-bg); }

.request, .record, .table, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.request { padding: .5rem .8rem; margin: 0 0 .9rem; font-size: 13px; }
.line { display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; margin: 0; }
.push { margin-left: auto; display: flex; gap: .4rem; align-items: center; }
.url { overflow-wrap: anywhere; }
.status { font-weight: 600; padding: .05rem .5rem; border-radius: 99px; color: var(--green); background: var(--green-bg); }
.status.s4, .status.s5 { color: var(--red); background: var(--red-bg); }
details > summary { cursor: pointer; color: var(--dim); font-size: 13px; width: fit-content; }
.request details { margin-top: .25rem; }
.rejection { border-left: 4px solid var(--red); background: var(--card); border-radius: 8px; padding: .25rem 1rem .5rem; }
.rejection h2 { margin: .6rem 0 0; color: var(--red); }
.rejection p { margin: .2rem 0; }

input, select, textarea {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-color: color-mix(in srgb, var(--dim) 55%, var(--line));
  border-radius: 8px; padding: .4rem .6rem; width: 100%; min-height: 2.3rem;
}
textarea { resize: vertical; display: block; }
::placeholder { color: var(--dim); opacity: 1; }
[aria-invalid=true] { border-color: var(--red); box-shadow: 0 0 0 1px var(--red); }

.number { font-variant-numeric: tabular-nums; }
.empty { background: var(--card); border: 1px dashed var(--line); border-radius: 10px; padding: 2.25rem 1rem; text-align: center; color: var(--dim); margin: 0; }
.raw { margin-top: 1rem; }

.record { margin: 0; }
.record > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 1rem; padding: .6rem .95rem; border-bottom: 1px solid var(--line); }
.record > div:last-child { border-bottom: 0; }
dt { color: var(--dim); font-size: 14px; overflow-wrap: anywhere; } dt b { color: var(--text); font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; unicode-bidi: isolate; }
dd pre { margin: 0; }
.text { white-space: pre-wrap; max-width: 80ch; }
.name { unicode-bidi: isolate; }
ul.plain { margin: 0; padding: 0; list-style: none; }

dialog {
  border: 1px solid var(--line); border-radius: 14px; background: var(--card); color: var(--text); padding: 0; box-shadow: var(--shadow);
  width: min(40rem, calc(100vw - 2rem)); max-height: calc(100vh - 3rem);
}
dialog::backdrop { background: #0b0f1a80; }
dialog form { display: flex; flex-direction: column; max-height: calc(100vh - 3rem); }
dialog header { padding: 1.1rem 1.4rem .8rem; border-bottom: 1px solid var(--line); font-size: 13px; }
dialog h2 { margin: 0 0 .3rem; font-size: 1.15rem; overflow-wrap: anywhere; }
.fields { padding: 1rem 1.4rem; overflow-y: auto; min-height: 0; }
dialog footer { display: flex; justify-content: flex-end; gap: .5rem; padding: .8rem 1.4rem; border-top: 1px solid var(--line); }
.field { margin-bottom: 1rem; }
.label { display: flex; gap: .5rem; align-items: baseline; margin-bottom: .25rem; font-size: 14px; }
.label label { font-weight: 600; }
.label .dim { font-size: 13px; }
.label .null { margin-left: auto; font-weight: 400; color: var(--dim); font-size: 13px; }
.null input { width: auto; min-height: 0; vertical-align: -2px; }
.hint, .error { margin: .25rem 0 0; font-size: 13px; }
.hint:empty, .error:empty, #status:empty { display: none; }
.error { color: var(--red); font-weight: 550; }
.alert { scroll-margin: 1rem; background: var(--red-bg); color: var(--red); border-radius: 8px; padding: .55rem .8rem; margin-bottom: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.alert table { margin: .5rem 0; }
.alert th, .alert td { background: none; white-space: pre-wrap; vertical-align: top; text-align: start; padding: .35rem .5rem; }
.alert th { overflow-wrap: break-word; }
.alert.good { background: var(--green-bg); color: var(--green); }
#status {
  position: fixed; right: 1.25rem; bottom: 1.25rem; margin: 0; background: var(--text); color: var(--bg); padding: .55rem 1rem;
  border-radius: 9px; box-shadow: var(--shadow);
}
.picker { position: relative; }
.picker .picked { font-size: 13px; color: var(--green); }
.picker .error { color: var(--red); }
[role=listbox] {
  position: absolute; z-index: 6; top: 2.5rem; left: 0; right: 0; margin: 0; padding: .3rem; list-style: none; max-height: 15rem; overflow: auto;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; box-shadow: var(--shadow);
}
[role=listbox] li { padding: .3rem .5rem; border-radius: 6px; overflow-wrap: anywhere; }
[data-value] { cursor: pointer; }
[data-value]:hover, [role=option][aria-selected=true] { background: var(--blue-bg); }
@media (max-height: 30rem) {
  dialog { max-height: calc(100vh - 1rem); }
  dialog form { display: block; max-height: none; }
}
@media (max-width: 48rem) {
  body { grid-template: "top" auto "nav" auto "main" 1fr / minmax(0, 1fr); }
  body > nav { display: flex; align-items: baseline; overflow-x: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: .45rem .75rem; }
  body > nav:not(:has(a)) { display: none; }
  body > nav h2, body > nav ul { margin: 0 .6rem 0 0; flex: none; }
  body > nav ul { display: flex; }
  .type { display: none; }
  main { padding: 1.1rem 1rem 3rem; }
  .record > div { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
}
@media print {
  body { display: block; background: none; }
  body > nav, .who, .tools, .chips, .actions, .pager form, .pager ul, .request, .pick, .raw, .facts, #status { display: none !important; }
  main { padding: 0; max-width: none; }
  .table { overflow: visible; max-height: none; border: 0; }
  table { font-size: 8pt; }
  .table th, .table td { position: static; white-space: normal; overflow-wrap: anywhere; max-width: none; padding: 2pt 3pt; background: none; }
  pre { max-height: none; }
}
@media (prefers-reduced-motion: no-preference) { dialog[open] { animation: rise .12s ease-out; } }
@keyframes rise { from { opacity: 0; transform: translateY(6px); } }
`
