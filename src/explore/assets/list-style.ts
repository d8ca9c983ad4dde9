/** How lists look. */
export const LIST_STYLE = String.raw`
.tools { display: flex; gap: .5rem 1rem; flex-wrap: wrap; align-items: center; justify-content: space-between; margin-bottom: .7rem; }
.query { display: flex; gap: .5rem; flex: 1 1 25rem; margin: 0; align-items: flex-start; position: relative; }
.query:not(:has(.wide)) { flex: none; }
.query .wide { display: grid; gap: .2rem; flex: 1 1 12rem; max-width: 34rem; min-width: 0; }
.tools .actions { margin-left: auto; }
.tools .button, .query button { min-height: 2.3rem; }
.menu { position: relative; }
.menu > summary { width: auto; font-size: inherit; color: inherit; list-style: none; white-space: nowrap; min-height: 2.3rem; }
.menu > summary::-webkit-details-marker { display: none; }
.query .menu { position: static; }
.menu[open] > summary { background: var(--sunk); }
.with-js .menu.js { display: block !important; }
.panel {
  position: absolute; z-index: 5; top: calc(100% + .35rem); left: 0; width: max-content; max-width: min(48rem, calc(100vw - 2rem));
  max-height: min(34rem, 70vh); overflow: auto; display: flex; flex-wrap: wrap; gap: .7rem; padding: .9rem; box-shadow: var(--shadow);
}
.query .panel span { display: grid; gap: .35rem; align-content: start; flex: 0 1 10.6rem; }
.query label { font: 12px var(--mono); color: var(--dim); }
.query .error { max-width: 24rem; }
.query .panel .error { max-width: 11rem; }
.panel p { flex-basis: 100%; margin: 0; position: sticky; bottom: -.9rem; background: var(--card); padding: .4rem 0; }
.menu.js .panel { left: auto; right: 0; flex-direction: column; flex-wrap: nowrap; gap: .3rem; min-width: 12rem; }
.menu.js label { font: 13px var(--mono); }
.panel input[type=checkbox], .pick input { width: auto; min-height: 0; margin: 0; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: 0 0 .7rem; padding: 0; align-items: center; font-size: 13px; }
.chip {
  display: inline-flex; gap: .4rem; align-items: center; padding: .12rem .6rem; border-radius: 99px; background: var(--blue-bg); color: var(--accent);
  text-decoration: none; max-width: 24rem;
}
.chip span { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chip.wrong { background: var(--red-bg); color: var(--red); }
.bulk { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .4rem .8rem; margin-bottom: .5rem; border-radius: 10px; background: var(--blue-bg); font-size: 14px; }
.bulk[hidden] { display: none; }
.bulk .error { margin: 0; }
[data-count] { font-weight: 600; }
[data-names] { margin: 0 0 1rem; padding: 0 0 0 1.1rem; max-height: 10rem; overflow: auto; font-size: 14px; overflow-wrap: anywhere; }

[hidden] { display: none !important; }
.table { overflow: auto; max-height: max(20rem, calc(100vh - 9rem)); }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 14px; }
th, td { text-align: start; padding: .5rem .85rem; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
.table .wraps { white-space: normal; }
td { max-width: min(26rem, 60vw); overflow: hidden; text-overflow: ellipsis; unicode-bidi: isolate; }
tbody tr:last-child > * { border-bottom: 0; }
.first { text-align: center; }
.table .number { text-align: right; }
thead > tr > * { position: sticky; top: 0; z-index: 2; font-size: 13px; font-weight: 600; color: var(--dim); background: var(--sunk); }
thead a { color: inherit; }
thead a::after { content: " \2195"; opacity: .55; }
thead [aria-sort] { color: var(--text); }
thead [aria-sort=ascending] a::after, [aria-sort=ascending]:not(:has(a))::after { content: " \2191"; opacity: 1; }
thead [aria-sort=descending] a::after, [aria-sort=descending]:not(:has(a))::after { content: " \2193"; opacity: 1; }
thead [title] { font-style: italic; }
tbody th { font-weight: 400; background: var(--card); max-width: 40vw; overflow: hidden; text-overflow: ellipsis; }
/* The first field of the key stays in view. */
tbody th:not(th ~ th), thead .key { position: sticky; left: 0; z-index: 1; }
thead .key { z-index: 3; }
tbody tr:hover > * { background: var(--sunk); }
tbody tr.picked > * { background: var(--blue-bg); }
.pick { width: 1%; padding-right: 0; }
.pager { display: flex; justify-content: space-between; align-items: center; flex-wrap: wrap; gap: .5rem 1.2rem; margin-top: .7rem; font-size: 14px; font-variant-numeric: tabular-nums; }
.pager p { margin: 0; }
.pager ul { display: flex; flex-wrap: wrap; gap: .35rem; list-style: none; padding: 0; margin: 0; }
.pager form { display: flex; gap: .35rem; align-items: center; font-size: 13px; color: var(--dim); }
.pager input, .pager select { width: auto; min-height: 0; padding: .15rem .4rem; color: var(--text); }
@media (max-width: 48rem) {
  .tools .actions { margin-left: 0; }
  .query .panel span { flex: 1 1 9rem; }
  .tools .actions .button { padding: .2rem .6rem; min-height: 0; font-size: 13px; }
  .menu.js .panel { left: 0; right: auto; }
}
@media (max-width: 36rem) { .table .wraps { white-space: nowrap; } }
`
