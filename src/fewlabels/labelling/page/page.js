"use strict";
const base = location.pathname.replace(/[^/]*$/, "");
const el = (id) => document.getElementById(id);
const keys = "123456789";
let state = null, row = null, busy = false, pending = null;

// Cells and names are text, always: nothing is ever parsed as HTML.
function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== null && text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// A picture that the server drew.
function picture(svg) {
  return document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
}

function stored(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch { return null; }
}

function unique() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  };
  let response;
  try { response = await fetch(base + "api/" + path, options); } catch {
    throw new Error("The server can't be reached. Restart it, or wait. Saved labels are safe.");
  }
  const found = await response.json();
  if (!response.ok) throw new Error(found.error || "Refused.");
  return found;
}

function trouble(words) {
  el("trouble").hidden = !words;
  el("trouble").textContent = words || "";
}

function who() { return el("who").value.trim() || "me"; }

// -- the card --------------------------------------------------------------------------------

function showState(next) {
  state = next;
  el("data").textContent = state.data.split(/[\\/]/).pop();
  document.title = `Label ${el("data").textContent}`;
  el("count").textContent = `${state.n_known} of ${state.n_rows} rows have a label`;
  trouble(state.trouble);
  const classes = el("classes");
  classes.replaceChildren();
  state.classes.forEach((name, place) => {
    const button = make("button", null, { "data-class": name });
    button.append(make("span", name));
    const side = make("span", null, { class: "count" });
    side.append(`${state.counts[name]} `);
    if (place < keys.length) side.append(make("kbd", keys[place]));
    button.append(side);
    button.addEventListener("click", () => answer("label", name));
    classes.append(button);
  });
  el("undo").disabled = !state.can_undo;
  showCard(state.card);
}

function showCard(card) {
  row = card ? card.row : null;
  for (const button of document.querySelectorAll("#classes button, #unknown, #skip")) button.disabled = !card || !state.classes.length;
  const cells = el("cells");
  cells.replaceChildren();
  el("said").textContent = "";
  el("legend").hidden = !card || !card.drivers.length;
  if (!card) { el("why").textContent = "Every row is labelled."; return; }
  el("why").textContent = `Row ${card.row + 1}${card.why ? ": " + card.why : ""}`;
  for (const cell of card.cells) {
    const isMarked = card.drivers.includes(cell.name);
    const name = make("dt"), value = make("dd");
    name.append(make("span", cell.name, isMarked ? { class: "marked" } : {}));
    if (isMarked) name.append(make("span", ", changes the score most", { class: "unseen" }));
    if (cell.picture) {
      const source = `${base}api/picture/${card.row}/${encodeURIComponent(cell.name)}`;
      value.append(make("img", null, { src: source, alt: `Picture ${cell.text}` }));
    } else value.textContent = cell.text + (cell.cut ? " …" : "");
    cells.append(name, value);
  }
  if (card.said.length) {
    el("said").textContent = "Labels so far: " + card.said.map((one) => `${one.annotator}: ${one.label || (one.kind === "skip" ? "skipped" : "don't know")}`).join("; ");
  }
  el("live").textContent = `${el("why").textContent}. ${card.cells.map((c) => `${c.name}: ${c.text}`).join(". ").slice(0, 600)}`;
  performance.mark("card-shown");
}

async function send(path, body) {
  if (busy) return;
  busy = true;
  pending = pending || [path, { ...body, id: unique(), annotator: who() }];
  try {
    const found = await call(...pending);
    pending = null;
    showState(found);
  } catch (error) {
    // Sent again with the same id it counts once, whether or not it came through.
    if (!/cannot be reached|Nothing was saved/.test(error.message)) pending = null;
    trouble(error.message + (pending ? " Press a key to try again." : ""));
  } finally { busy = false; }
}

function answer(kind, label = null) {
  if (pending === null && row === null) return;
  send("answer", { row, kind, label });
}
function undo() { if (pending !== null || state?.can_undo) send("undo", {}); }

async function open(number) {
  show("label");
  showCard((await call(`row/${number}`)).card);
  el("card").focus();
}

async function load() {
  try { showState(await call(`state?annotator=${encodeURIComponent(who())}`)); } catch (error) { trouble(error.message); }
}

// -- progress --------------------------------------------------------------------------------

const percent = (x) => x === null ? "–" : `${(100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0)} %`;
const interval = (s) => s.n ? `${percent(s.value)} (${percent(s.low)} to ${percent(s.high)}; ${s.count} of ${s.n})` : "not known yet";

function curve(svg) {
  return svg === null ? make("p", "Not enough labels for a curve yet.", { class: "note" }) : picture(svg);
}

function table(shares) {
  const found = make("table");
  for (const [name, share] of Object.entries(shares)) {
    const line = make("tr"), last = make("td", null, { class: "bar" });
    last.append(picture(share.picture));
    line.append(make("th", name, { scope: "row" }), make("td", interval(share)), last);
    found.append(line);
  }
  return found;
}

function lines(rows, empty) {
  if (!rows.length) return make("p", empty, { class: "note" });
  const list = make("ul", null, { class: "rows" });
  for (const one of rows) {
    const line = make("li"), labels = one.labels ? ` — ${Object.entries(one.labels).map(([a, b]) => `${a}: ${b}`).join(", ")}` : "";
    const button = make("button", `${one.row + 1}: ${one.text}${labels}`);
    button.addEventListener("click", () => open(one.row));
    line.append(button);
    list.append(line);
  }
  return list;
}

async function showProgress() {
  const o = await call("overview"), view = el("view-progress");
  const heading = (text) => make("h2", text);
  view.replaceChildren(
    make("p", o.advice.words, { class: `advice${o.advice.stop ? " stop" : ""}` }),
    make("p", `Current model: ${o.model}${o.busy ? "; refitting in the background" : ""}.`, { class: "note" }),
    heading("Class shares"),
    make("p", `From a random sample of ${o.n_random} rows, with 95 % confidence intervals.`, { class: "note" }), table(o.shares),
    heading("Error rate of the model"),
    make("p", o.error === null ? "Available once random rows of two classes are labelled and cross-validation in the background has finished." : `Cross-validated on the random rows, with a 95 % confidence interval.${o.n_answers > o.error_at ? ` ${o.n_answers - o.error_at} labels were added since.` : ""}`, { class: "note" }),
    ...(o.error === null ? [] : [table({ "wrong": o.error })]),
    curve(o.error_curve),
    heading("Predictions changed by each label"),
    curve(o.changed_curve),
    ...state.notes.map((note) => make("p", note, { class: "note" })),
    heading("Finish"), make("div", null, { id: "finish" }),
  );
  showFinish(await call("finish"));
}

// -- the end ---------------------------------------------------------------------------------

function showFinish(f) {
  if (!el("finish")) return;
  const running = f.state === "running";
  const button = make("button", f.state === "done" ? "Finish again" : "Finish: write a model file and a report");
  button.disabled = running || !state.n_known;
  button.addEventListener("click", async () => {
    try { showFinish(await call("finish", { annotator: who() })); el("finish").focus(); } catch (error) { trouble(error.message); }
  });
  const parts = [make("p", `Labels are stored in ${state.file}. This fits a model, like the command: ${f.command}`, { class: "note" })];
  if (running) {
    parts.push(make("p", `Fitting a model to ${f.n_labels} labels, which takes a minute or two. You can continue labelling.`, { role: "status" }));
    setTimeout(async () => { try { showFinish(await call("finish")); } catch (error) { trouble(error.message); } }, 1000);
  } else if (f.state === "failed") parts.push(make("p", `The fit failed: ${f.words}`, { role: "alert" }));
  else if (f.state === "done") {
    const since = state.n_known - f.n_labels, line = make("p", null, { role: "status" });
    line.append(`The model is in ${f.model} (${f.words}, ${f.n_labels} labels). `, make("a", "Open the report", { href: `${base}report`, target: "_blank", rel: "noopener" }), ` (${f.report}).${since > 0 ? ` ${since} labels were added since.` : ""}`);
    parts.push(line);
  }
  el("finish").replaceChildren(...parts, button);
}

async function showRows() {
  const o = await call("overview"), view = el("view-rows");
  const found = o.positives;
  view.replaceChildren(
    make("h2", found ? `Rows of '${found.class}' found, at most ${percent(found.rate)} of them wrong` : "Rows found"),
    make("p", found ? (found.count ? `${found.count} unlabelled rows; the likeliest:` : `None: ${found.why}.`) : "Available once two classes have labels.", { class: "note" }),
    lines(found ? found.rows : [], ""),
    make("h2", "Least certain"), lines(o.doubt, "None yet."),
    make("h2", "Labels that contradict the model"), lines(o.wrong, "None found."),
    make("h2", "Rows on which people disagree"), lines(o.differing, "None."),
  );
}

// -- views and keys ---------------------------------------------------------------------------

const views = ["label", "progress", "rows", "search"];
function show(name) {
  for (const one of views) {
    el(`view-${one}`).hidden = one !== name;
    if (one === name) el(`tab-${one}`).setAttribute("aria-current", "page"); else el(`tab-${one}`).removeAttribute("aria-current");
  }
  trouble(state?.trouble);
  const then = { progress: showProgress, rows: showRows, search: async () => el("words").focus() }[name];
  return then ? then().catch((error) => trouble(error.message)) : null;
}
for (const name of views) el(`tab-${name}`).addEventListener("click", () => { show(name); if (name === "label") load(); });
el("unknown").addEventListener("click", () => answer("unknown"));
el("skip").addEventListener("click", () => answer("skip"));
el("undo").addEventListener("click", undo);
el("who").value = stored("annotator") || `person-${unique().slice(0, 4)}`;
stored("annotator", el("who").value);
el("who").addEventListener("change", () => { stored("annotator", who()); load(); });
el("new-class").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    showState(await call("class", { name: el("class-name").value, annotator: who() }));
    el("class-name").value = "";
    el("card").focus();
  } catch (error) { trouble(error.message); }
});
el("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const found = await call(`search?words=${encodeURIComponent(el("words").value)}`);
    el("hits").replaceChildren(lines(found.rows, "No row has these words."));
  } catch (error) { trouble(error.message); }
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key === "Escape") { document.activeElement.blur(); show("label"); load(); return; }
  if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "/") { event.preventDefault(); show("search"); return; }
  if (event.key === "p") { show("progress"); return; }
  if (event.key === "r") { show("rows"); return; }
  if (el("view-label").hidden || !state) return;
  if (pending !== null) { event.preventDefault(); send(); return; }
  const place = keys.indexOf(event.key);
  if (place >= 0 && place < state.classes.length) { event.preventDefault(); answer("label", state.classes[place]); }
  else if (event.key === "d") answer("unknown");
  else if (event.key === "s") answer("skip");
  else if (event.key === "u" || event.key === "Backspace") { event.preventDefault(); undo(); }
});
load();
