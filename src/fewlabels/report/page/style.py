"""The look of a report: light and dark, wide and narrow, on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --soft: #f4f6f8; --text: #1c2126; --muted: #56606b; --line: #d5dbe1;
  --below: #a8500f; --above: #1d5c9e; --warn: #8a3b00; --warn-soft: #fff4e8;
  --series-1: #1d5c9e; --series-2: #a8500f; --series-3: #3b7a3b; --series-4: #7b4ba0;
  --series-5: #9b2f4f; --series-6: #56606b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181b; --soft: #1e2327; --text: #e3e7ea; --muted: #a3adb6; --line: #39424a;
    --below: #f0a868; --above: #82b8f2; --warn: #f5b47a; --warn-soft: #2c2218;
    --series-1: #82b8f2; --series-2: #f0a868; --series-3: #8fcb8f; --series-4: #c4a0e4;
    --series-5: #f09ab2; --series-6: #a3adb6;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 4rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  overflow-wrap: anywhere;
}
th, td { overflow-wrap: break-word; }
.loose { overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; font-weight: 600; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; line-height: 1.3; font-weight: 600; margin: 3rem 0 .5rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.75rem 0 .25rem; }
p { margin: .5rem 0; max-width: 42rem; }
a { color: var(--above); }
.muted, caption, figcaption { color: var(--muted); font-size: .875rem; }
.lead { font-size: 1.125rem; line-height: 1.5; margin: 1.25rem 0; }
nav ul { list-style: none; margin: .75rem 0 0; padding: 0; font-size: .875rem; }
nav li { display: inline-block; margin: 0 1rem .25rem 0; }
section { scroll-margin-top: 1rem; }
section + section h2 { padding-top: 1.25rem; border-top: 1px solid var(--line); }
dl.facts { margin: 1rem 0; }
dl.facts > div {
  display: grid; grid-template-columns: minmax(10rem, 2fr) 3fr; gap: 0 1.5rem;
  padding: .3rem 0; border-bottom: 1px solid var(--line);
}
dl.facts > div:first-child { border-top: 1px solid var(--line); }
dt { color: var(--muted); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
dl.answer dd { font-weight: 600; }
dl.terms dt { color: var(--text); font-weight: 600; margin-top: .75rem; }
dl.terms dd { max-width: 42rem; }
.callout {
  margin: 1rem 0; padding: .75rem 1rem; border-left: 4px solid var(--warn);
  background: var(--warn-soft);
}
.callout p { margin: 0; }
.callout p + p { margin-top: .5rem; }
ul.notes { padding-left: 1.1rem; max-width: 42rem; }
ul.notes li { margin: .35rem 0; }
table { width: 100%; border-collapse: collapse; margin: 1rem 0; font-size: .9375rem; }
caption { text-align: left; padding-bottom: .4rem; }
th, td {
  text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums;
  unicode-bidi: isolate;
}
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--muted); font-weight: 500; font-size: .875rem; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number { text-align: right; white-space: nowrap; }
.number + .wide { padding-left: .75rem; }
tbody .short, .option { white-space: nowrap; }
thead .number { white-space: normal; }
.picture { width: 24%; }
tr.marked th, tr.marked td { font-weight: 650; }
mark { color: inherit; background: none; font-weight: 650; text-decoration: underline; }
mark.down { font-weight: inherit; text-decoration: underline dotted; }
code, pre, kbd {
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  font-size: .875rem;
}
pre {
  margin: .4rem 0 1rem; padding: .7rem .9rem; background: var(--soft); white-space: pre-wrap;
  overflow-wrap: anywhere; line-height: 1.45;
}
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--above); }
figure { margin: 1.25rem 0; }
svg { display: block; width: 100%; overflow: visible; }
svg text { fill: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .threshold { stroke: var(--text); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .below { fill: var(--below); }
svg .above { fill: var(--above); }
svg .open { fill: var(--line); }
svg .limit { stroke: var(--text); stroke-width: 1.5; }
svg .range { stroke: var(--above); stroke-width: 4; stroke-linecap: round; opacity: .45; }
svg .dot { fill: var(--above); }
svg .other .range { stroke: var(--muted); }
svg .other .dot { fill: var(--muted); }
svg path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
.legend { font-size: .875rem; color: var(--muted); margin: .25rem 0; }
.legend > span { display: inline-block; margin-right: 1.25rem; }
.key.open { background: var(--line); }
.key.below { background: var(--below); }
.key.above { background: var(--above); }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.35rem; }
  dl.facts > div { grid-template-columns: 1fr; }
  table.stacked, table.stacked tbody, table.stacked tr, table.stacked caption { display: block; }
  table.stacked thead {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  }
  table.stacked tr {
    display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; padding: .5rem 0;
    border-bottom: 1px solid var(--line);
  }
  table.stacked th, table.stacked td {
    border: 0; padding: 0; text-align: left; white-space: normal; flex: 0 1 auto;
    width: auto;
  }
  table.stacked td:empty { display: none; }
  table.stacked .number + .wide { padding-left: 0; }
  table.stacked tbody [data-label]::before {
    content: attr(data-label) " "; color: var(--muted); font-weight: 400; font-size: .8125rem;
  }
  table.stacked .wide, table.stacked .picture { flex: 1 0 100%; width: 100%; }
  table.stacked tbody .plain::before { content: none; }
}
@media print {
  :root {
    --page: #ffffff; --soft: #f4f6f8; --text: #000000; --muted: #444444; --line: #bbbbbb;
    --below: #a8500f; --above: #1d5c9e; --warn: #8a3b00; --warn-soft: #ffffff;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.5rem; }
  h3, caption { break-after: avoid; }
  tr, figure, .callout, dl.facts > div, pre { break-inside: avoid; }
  .key, .callout, svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { color: inherit; text-decoration: none; }
  summary { display: none; }
  details::details-content { content-visibility: visible; display: block; }
}
"""
