"use strict";
// The report stands in the page as JSON. What this script makes of it are elements and text, never HTML: no name, comment
// or message of somebody's sources is parsed again. What nobody opened is not made, whatever the size of the report.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const { findings, targets, sources } = report;
  const byId = (id) => document.getElementById(id);

  function make(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  // Text that turns the direction of what follows would show another source than Python reads.
  const turned = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;
  const visible = (text) =>
    text.replace(turned, (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

  /** Text with what stands in backticks as code. */
  function inline(text) {
    const pieces = visible(text).split("`");
    if (pieces.length % 2 === 0) return [pieces.join("`")];
    return pieces.map((piece, number) => (number % 2 ? make("code", {}, piece) : piece));
  }

  const place = (path, line, column) => [path, line, column].filter((part) => part !== undefined && part !== null && part !== "").join(":");
  const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const chip = (text, kind = "") => make("span", { class: `chip ${kind}` }, text);
  const status = (name) => make("span", { class: `status is-${name}` }, make("span", { class: "mark", "aria-hidden": "true" }), name);

  /** A list of which that part is made which somebody looks at. It grows at both ends, in `pane` where that scrolls by
   * itself; where `jumps`, to go far away leaves behind what was made. */
  function growing(container, items, makeItem, batch, { pane = null, jumps = false } = {}) {
    let first = 0, last = 0; // what is made: from the one up to the other
    const above = make("div", { "aria-hidden": "true" }), below = make("div", { "aria-hidden": "true" });
    const some = (from, to) => {
      const made = document.createDocumentFragment();
      for (let index = from; index < to; index++) made.append(makeItem(items[index], index));
      return made;
    };
    const watcher = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        if (target === above) include(first - batch, last);
        else include(first, last + batch);
      }
    }, { root: pane, rootMargin: "600px" });
    // Where an end is still in sight nothing changes for the watcher, unless it looks anew.
    const watch = () => {
      watcher.disconnect();
      if (first > 0) watcher.observe(above);
      if (last < items.length) watcher.observe(below);
    };
    const include = (from, to) => {
      const low = Math.max(0, Math.min(first, from)), high = Math.min(items.length, Math.max(last, to));
      above.after(some(low, first));
      below.before(some(last, high));
      [first, last] = [low, high];
      watch();
    };
    const reach = (index) => {
      if (index >= first && index < last) return;
      if (jumps && (index > last + 4 * batch || index < first - 4 * batch)) {
        container.replaceChildren(above, below);
        first = last = index;
      }
      include(index - batch / 2, index + batch / 2);
    };
    container.replaceChildren(above, below);
    include(0, batch);
    return { reach, all: () => include(0, items.length), stop: () => watcher.disconnect() };
  }

  // Source.

  const keywords = "False|None|True|and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield";
  // A line is coloured by itself, so the later lines of a long string are taken for code.
  const token = new RegExp(`(?<c>#.*)|(?<s>\\b[rRbBfFuU]{0,2}(?:"""(?:.*?"""|.*)|'''(?:.*?'''|.*)|"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?)|"""(?:.*?"""|.*)|'''(?:.*?'''|.*)|"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?)|(?<k>\\b(?:${keywords})\\b)|(?<n>\\b\\d[\\w.]*)`, "g");

  /** Where a column of Python's, which counts code points from 1, is in a string of JavaScript's. */
  const offset = (text, column) =>
    /[\ud800-\udfff]/.test(text) ? Array.from(text).slice(0, column - 1).join("").length : column - 1;

  /** The line in colours, with what is `from` one offset to another marked. */
  function coloured(text, from = 0, to = 0) {
    const pieces = [];
    let done = 0;
    const plain = (end) => { if (end > done) pieces.push([done, end, ""]); done = Math.max(done, end); };
    for (const found of text.matchAll(token)) {
      plain(found.index);
      const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
      pieces.push([found.index, found.index + found[0].length, kind]);
      done = found.index + found[0].length;
    }
    plain(text.length);
    const out = [], marked = make("mark");
    for (const [start, end, kind] of pieces) {
      for (const [a, b] of [[start, Math.min(end, from)], [Math.max(start, from), Math.min(end, to)], [Math.max(start, to), end]]) {
        if (a >= b) continue;
        const piece = visible(text.slice(a, b));
        const shown = kind ? make("span", { class: kind }, piece) : piece;
        if (a >= from && b <= to) {
          if (!marked.parentNode && !out.includes(marked)) out.push(marked);
          marked.append(shown);
        } else out.push(shown);
      }
    }
    return out;
  }

  function rowOf(number, text, { from = 0, to = 0, isPlace = false, steps = [], beliefs = [] } = {}) {
    const row = make("div", { class: `row${isPlace ? " is-place" : ""}`, "data-line": number },
      make("span", { class: "ln" }, String(number)),
      make("span", { class: "text" }, coloured(text, from, to)),
      steps.map((step) => make("span", { class: "step", "data-step": step.number }, visible(`${step.number} ${step.text.replaceAll("`", "")}`))));
    return [row, ...beliefs.map((words) => make("div", { class: "row" }, make("span", { class: "note" }, visible(`↳ ${words}`))))];
  }

  const gapRow = (number) => make("div", { class: "row is-gap" }, make("span", { class: "ln" }, "⋯"), make("span", { class: "text" }, plural(number, "line")));

  /** Numbered lines, with gaps where some are left out. `how` says for a line what rowOf takes. */
  function listing(path, numbers, how = () => ({}), label = `Source of ${path}`) {
    const known = sources[path] ?? {};
    const rows = make("div", { class: "rows" });
    let before = null;
    for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
      if (known[number] === undefined) continue;
      if (before !== null && number > before + 1) rows.append(gapRow(number - before - 1));
      rows.append(...rowOf(number, known[number], how(number, known[number])));
      before = number;
    }
    // It scrolls sideways, so a keyboard has to reach it.
    return before === null ? null : make("div", { class: "code", tabindex: "0", role: "group", "aria-label": label }, rows);
  }

  const range = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);

  /** The source of a finding. The trail of its value is drawn from line to line, each step numbered, the origin first. */
  function sourceOf(finding) {
    const [line, column, endLine, endColumn] = finding.span;
    const trail = [...(finding.trail ?? [])].reverse().map((step, index) => ({ ...step, number: index + 1 }));
    const own = trail.filter((step) => step.path === finding.path);
    const beliefs = finding.beliefs ?? {};
    const lines = [...range(...finding.shown), ...own.flatMap((step) => range(step.line - 1, step.line + 1)), ...Object.keys(beliefs).map(Number)];
    const block = listing(finding.path, lines, (number, text) => ({
      isPlace: number >= line && number <= Math.max(line, endLine),
      from: number === line ? offset(text, column) : number > line && number <= endLine ? text.length - text.trimStart().length : 0,
      to: number < line || number > endLine ? 0 : number === endLine ? Math.max(offset(text, endColumn), number === line ? offset(text, column) + 1 : 0) : text.length,
      steps: own.filter((step) => step.line === number),
      beliefs: beliefs[number] ?? [],
    }), `Source of ${finding.path} around line ${line}`);
    const elsewhere = [...new Set(trail.filter((step) => step.path !== finding.path).map((step) => step.path))].flatMap((path) => {
      const there = trail.filter((step) => step.path === path);
      const rows = listing(path, there.flatMap((step) => range(step.line - 1, step.line + 1)), (number) => ({ steps: there.filter((step) => step.line === number) }));
      return [make("p", { class: "file" }, `${path}, where the value comes from`), rows ?? make("p", {}, there.map((step) => `${step.number} ${step.text}, line ${step.line}`).join("; "))];
    });
    if (!block) return [make("p", { class: "muted" }, `The source of ${finding.path} could not be read.`), ...elsewhere];
    if (own.length) block.classList.add("has-trail");
    return [...elsewhere, make("p", { class: "file" }, finding.path), block];
  }

  function drawTrails(container) {
    for (const block of container.querySelectorAll(".code.has-trail")) {
      const rows = block.firstElementChild;
      rows.querySelector("svg")?.remove();
      const middle = (row) => row.offsetTop + row.offsetHeight / 2;
      const places = [...rows.querySelectorAll("[data-step]")].sort((a, b) => a.dataset.step - b.dataset.step).map((step) => middle(step.parentNode));
      const last = rows.querySelector(".is-place");
      if (last) places.push(middle(last));
      const points = places.filter((y, index) => index === 0 || y !== places[index - 1]);
      const svg = (tag, attributes, ...children) => {
        const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
        made.append(...children);
        return made;
      };
      const dots = points.slice(0, -1).map((y) => svg("circle", { cx: 30, cy: y, r: 3 }));
      const arcs = points.slice(1).map((to, index) => {
        const from = points[index], reach = Math.max(6, 24 - Math.abs(to - from) / 8);
        return svg("path", { d: `M30 ${from} C${reach} ${from} ${reach} ${to} 26 ${to}` });
      });
      const heads = points.slice(1).map((y) => svg("polygon", { points: `25,${y - 4} 32,${y} 25,${y + 4}` }));
      if (points.length > 1) rows.append(svg("svg", { class: "trail", width: 40, height: rows.offsetHeight, "aria-hidden": "true" }, ...arcs, ...dots, ...heads));
    }
  }

  // One finding.

  const tried = { verified: "is-good", failed: "is-bad" };
  const isBad = (outcome) => !["exports", "passed", "compiled", "supported"].includes(outcome);
  const outcomes = (by) => Object.entries(by).map(([where, outcome]) => chip(`${where}: ${outcome}`, isBad(outcome) ? "is-bad" : "is-good"));
  const fact = (term, ...told) => [make("dt", {}, term), make("dd", {}, ...told)];

  function diffOf(lines) {
    const kind = (line, number) => (number < 2 || line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "");
    return make("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": "Diff of the rewrite" }, lines.map((line, number) => make("code", { class: kind(line, number) }, visible(line) || " ")));
  }

  /** A sentence, and the code below it where there is some. */
  function advice(text) {
    const [first, ...code] = text.split("\n");
    return [make("p", {}, inline(first)), code.length ? make("pre", { tabindex: "0" }, visible(code.join("\n"))) : null];
  }

  function detailsOf(finding) {
    const fix = finding.fix, read = finding.evidence === "suspected";
    const facts = make("dl", { class: "facts" },
      fact("evidence", finding.evidence, finding.standing && finding.standing !== finding.evidence ? ` (${finding.standing})` : "", finding.target ? `; target ${finding.target}` : "", finding.stage ? `, stage ${finding.stage}` : ""),
      finding.effect ? fact("torch", outcomes(finding.effect), read ? " measured on models of this rule" : " seen in the trial") : [],
      finding.lowerings ? fact("deployment", outcomes(finding.lowerings), " measured on models of this rule") : [],
      finding.calls ? fact("calls that lead there", finding.calls.map((call) => make("div", {}, make("span", { class: "place" }, place(call.path, call.line)), " ", inline(call.text)))) : [],
      finding.links ? fact("read on", finding.links.map((link, number) => [number ? ", " : "", link.url ? make("a", { href: link.url, rel: "noreferrer" }, `${link.kind} ${link.id}`) : `${link.kind} ${link.id}`]).flat()) : []);
    return make("div", { class: "details" },
      make("a", { class: "permalink", href: `#finding-${finding.id}` }, "link to this finding"),
      make("p", { class: "said" }, inline(finding.message)), sourceOf(finding), facts,
      fix ? [make("h5", {}, "What to write instead ", chip(fix.tried, tried[fix.tried] ?? ""), fix.applicability === "display" ? "" : [" ", chip(fix.applicability)]), advice(fix.advice)] : [],
      (finding.rewrites ?? []).map((one) => [make("h5", {}, "Rewrite ", chip(one.outcome, tried[one.outcome] ?? "")), fix && fix.advice === one.description ? "" : make("p", {}, inline(one.description)), one.diff.length ? diffOf(one.diff) : ""]).flat());
  }

  const opened = new Map(); // id of a finding -> its element, while it is open
  const elements = new Map(); // id -> its element, as far as the list was made

  function findingElement(finding) {
    const opener = make("button", { type: "button", class: "opener", "aria-expanded": "false" },
      make("span", { class: "top" },
        make("span", { class: "severity" }, finding.severity), make("span", { class: "rule" }, finding.rule),
        make("span", { class: "place" }, place(finding.path, finding.span[0], finding.span[1])),
        finding.evidence === "suspected" ? "" : chip(finding.evidence),
        finding.standing && finding.standing !== finding.evidence ? chip(finding.standing) : "",
        finding.fix && finding.fix.tried !== "not tried" ? chip(`fix ${finding.fix.tried}`, tried[finding.fix.tried]) : ""),
      make("span", { class: "said" }, inline(finding.message)));
    // Without the id that the address names: the browser would go there by itself, and take the focus away.
    const item = make("article", { class: `finding is-${finding.severity}`, "data-finding": finding.id }, make("h4", {}, opener));
    elements.set(finding.id, item);
    if (opened.has(finding.id)) open(finding, item);
    if (state.finding === finding.id) item.classList.add("is-current");
    return item;
  }

  function open(finding, item) {
    opened.set(finding.id, item);
    if (item.classList.contains("is-open")) return;
    item.classList.add("is-open");
    item.querySelector(".opener").setAttribute("aria-expanded", "true");
    const details = detailsOf(finding);
    item.append(details);
    if (item.isConnected) drawTrails(details);
    else requestAnimationFrame(() => drawTrails(details));
  }

  function close(finding, item) {
    opened.delete(finding.id);
    item.classList.remove("is-open");
    item.querySelector(".opener").setAttribute("aria-expanded", "false");
    item.querySelector(".details")?.remove();
  }

  // Filters. Their state is the address: `#finding-ID?rule=…&severity=error,warning`, both parts may be absent.

  const fields = {
    severity: { of: (one) => one.severity, order: ["error", "warning", "note"], kind: "toggles" },
    evidence: { of: (one) => one.evidence, order: ["confirmed", "discovered", "suspected", "cleared"], kind: "toggles" },
    // What a trial cleared is found by its evidence.
    standing: { of: (one) => one.standing || "counts", order: ["counts", "suppressed", "never ran"], kind: "toggles" },
    rule: { of: (one) => one.rule, kind: "choice", all: "all rules" },
    file: { of: (one) => one.path, kind: "choice", all: "all files" },
    target: { of: (one) => one.target ?? "no target", kind: "choice", all: "all targets" },
    stage: { of: (one) => one.stage ?? "no stage", kind: "choice", all: "all stages" },
  };
  const orders = {
    cause: { title: "by cause", group: (one) => one.group },
    file: { title: "by file", group: (one) => one.path, sort: (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.span[0] - b.span[0] || a.span[1] - b.span[1]) },
    rule: { title: "by rule", group: (one) => one.rule, sort: (a, b) => (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0) },
  };
  const usual = findings.some((one) => one.group) ? "cause" : "file";
  const state = { q: "", order: usual, finding: "", ...Object.fromEntries(Object.keys(fields).map((name) => [name, new Set()])) };
  const byName = new Map(findings.map((one) => [one.id, one]));
  let shown = [], grown = null, haystack = null;

  function matching() {
    haystack ??= findings.map((one) => [one.rule, one.path, one.message, one.fix?.advice ?? "", one.target ?? "", one.id].join("\n").toLowerCase());
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = Object.entries(fields).filter(([name]) => state[name].size);
    const found = findings.filter((one, index) => asked.every(([name, { of }]) => state[name].has(of(one))) && words.every((word) => haystack[index].includes(word)));
    const { sort } = orders[state.order];
    return sort ? found.sort(sort) : found;
  }

  function showFindings() {
    shown = matching();
    const { group } = orders[state.order];
    const heads = new Map();
    for (const one of shown) heads.set(group(one), (heads.get(group(one)) ?? 0) + 1);
    grown?.stop();
    elements.clear();
    grown = growing(byId("list"), shown, (finding, index) => {
      const head = group(finding), item = findingElement(finding);
      if (!head || (index && group(shown[index - 1]) === head)) return item;
      const both = document.createDocumentFragment();
      both.append(make("h3", { class: "group" }, inline(head), make("span", { class: "muted" }, ` ${heads.get(head)}`)), item);
      return both;
    }, 24, { jumps: true });
    tellCount();
    for (const [name, control] of controls) control.show(state[name]);
  }

  function tellCount() {
    const all = findings.length, count = byId("count");
    count.replaceChildren(shown.length === all ? plural(all, "finding") : `${shown.length} of ${plural(all, "finding")}`);
    if (state.finding && byName.has(state.finding) && !shown.some((one) => one.id === state.finding)) {
      count.append("; the filters hide the one that the address names. ", make("button", { type: "button", class: "control", onclick: () => { clear(); changed(); go(state.finding, { open: true }); } }, "Show it"));
    } else if (state.finding && !byName.has(state.finding)) count.append("; the one that the address names is not in this report");
  }

  function clear() {
    state.q = "";
    for (const name of Object.keys(fields)) state[name].clear();
  }

  function address() {
    const asked = new URLSearchParams();
    if (state.q) asked.set("q", state.q);
    for (const name of Object.keys(fields)) for (const value of state[name]) asked.append(name, value);
    if (state.order !== usual) asked.set("order", state.order);
    const text = asked.toString();
    return `#${state.finding ? `finding-${state.finding}` : ""}${text ? `?${text}` : ""}`;
  }

  function read() {
    const [name, text = ""] = location.hash.slice(1).split(/\?(.*)/s);
    const asked = new URLSearchParams(text);
    clear();
    state.q = asked.get("q") ?? "";
    state.order = asked.get("order") in orders ? asked.get("order") : usual;
    for (const field of Object.keys(fields)) state[field] = new Set(asked.getAll(field));
    state.finding = name.startsWith("finding-") ? decodeURIComponent(name.slice("finding-".length)) : "";
  }

  function remember() {
    try { history.replaceState(null, "", address()); } catch { /* a page of another origin's frame, or too often */ }
  }

  function changed() {
    remember();
    showFindings();
  }

  /** Make a finding the current one, and go there. */
  function go(id, { open: isOpened = false, focus = true } = {}) {
    const index = shown.findIndex((one) => one.id === id);
    if (index < 0) return;
    elements.get(state.finding)?.classList.remove("is-current");
    state.finding = id;
    grown.reach(index);
    const item = elements.get(id);
    item.classList.add("is-current");
    if (isOpened) open(shown[index], item);
    if (focus) item.querySelector(".opener").focus({ preventScroll: true });
    item.scrollIntoView({ block: isOpened ? "start" : "nearest" });
    remember();
    tellCount();
  }

  const controls = new Map();

  function makeFilters() {
    const box = byId("filters");
    const search = make("input", { type: "search", id: "search", placeholder: "Search messages, rules, files, advice", "aria-label": "Search the findings", autocomplete: "off", spellcheck: "false", oninput: (event) => { state.q = event.target.value; changed(); } });
    box.append(search);
    controls.set("q", { show: (value) => { if (search.value !== value) search.value = value; } });
    for (const [name, field] of Object.entries(fields)) {
      const counts = new Map();
      for (const one of findings) counts.set(field.of(one), (counts.get(field.of(one)) ?? 0) + 1);
      if (counts.size < 2) continue;
      if (field.kind === "toggles") {
        const buttons = field.order.filter((value) => counts.has(value)).map((value) =>
          make("button", { type: "button", class: "toggle", "data-value": value, "aria-pressed": "false", onclick: () => { if (!state[name].delete(value)) state[name].add(value); changed(); } }, `${value} ${counts.get(value)}`));
        if (buttons.length < 2) continue;
        box.append(make("fieldset", { "aria-label": name, "data-field": name }, buttons));
        controls.set(name, { show: (chosen) => { for (const button of buttons) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.value))); } });
      } else {
        const values = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
        const select = make("select", { "data-field": name, onchange: (event) => { state[name] = new Set(event.target.value ? [event.target.value] : []); changed(); } },
          make("option", { value: "" }, field.all), values.map((value) => make("option", { value }, `${value} (${counts.get(value)})`)));
        box.append(make("label", {}, name, select));
        controls.set(name, { show: (chosen) => { select.value = [...chosen][0] ?? ""; } });
      }
    }
    const order = make("select", { "data-field": "order", onchange: (event) => { state.order = event.target.value; changed(); } }, Object.entries(orders).map(([name, { title }]) => (name === "cause" && usual !== "cause" ? null : make("option", { value: name }, title))));
    box.append(make("label", {}, "order", order), make("button", { type: "button", onclick: () => { clear(); changed(); } }, "Clear filters"),
      make("p", { class: "keys" }, make("kbd", {}, "j"), " ", make("kbd", {}, "k"), " next and previous finding, ", make("kbd", {}, "Enter"), " opens it, ", make("kbd", {}, "/"), " searches, ", make("kbd", {}, "Esc"), " leaves the search"));
    controls.set("order", { show: (value) => { order.value = value; } });
    box.hidden = findings.length === 0;
  }

  byId("list").addEventListener("click", (event) => {
    const item = event.target.closest(".finding");
    if (!item) return;
    const finding = byName.get(item.dataset.finding);
    if (event.target.closest(".permalink")) {
      event.preventDefault();
      go(finding.id, { open: true });
    } else if (event.target.closest(".opener")) {
      if (item.classList.contains("is-open")) close(finding, item);
      else open(finding, item);
      elements.get(state.finding)?.classList.remove("is-current");
      state.finding = finding.id;
      item.classList.add("is-current");
      remember();
      tellCount();
    }
  });

  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.id === "search") event.target.blur();
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      byId("search").focus();
      byId("search").select();
    } else if ((event.key === "j" || event.key === "k") && shown.length) {
      event.preventDefault();
      const at = shown.findIndex((one) => one.id === state.finding);
      const next = event.key === "j" ? at + 1 : at < 0 ? 0 : at - 1;
      if (next >= 0 && next < shown.length) go(shown[next].id);
    }
  });

  // The ladder.

  const tip = byId("tip");

  function showTip(cell) {
    const target = targets[cell.dataset.target];
    const stage = target?.stages.find((one) => one.name === cell.dataset.stage);
    if (!stage) return hideTip();
    tip.replaceChildren(make("p", {}, make("strong", {}, stage.name), ` ${stage.status}`, stage.seconds ? `, ${stage.seconds} s` : ""),
      ...[stage.detail, stage.support].filter(Boolean).map((text) => make("p", {}, inline(text))),
      ...(stage.findings ? [make("p", {}, `Enter, or a click: ${plural(stage.findings.length, "finding")}`)] : []));
    tip.hidden = false;
    cell.setAttribute("aria-describedby", "tip");
    const box = cell.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const below = box.bottom + own.height + 8 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(box.left + scrollX, scrollX + document.documentElement.clientWidth - own.width - 8))}px`;
    tip.style.top = `${scrollY + (below ? box.bottom + 6 : box.top - own.height - 6)}px`;
  }

  function hideTip() {
    tip.hidden = true;
    document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  }

  function useLadder() {
    const table = document.querySelector(".matrix");
    if (!table) return;
    const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll(".cell")]);
    let current = rows[0]?.[0];
    if (current) current.tabIndex = 0;
    const cellOf = (event) => event.target.closest(".cell");
    const act = (cell) => {
      const stage = targets[cell.dataset.target]?.stages.find((one) => one.name === cell.dataset.stage);
      if (!stage) return;
      hideTip();
      if (!stage.findings) return openTarget(Number(cell.dataset.target));
      clear();
      state.target.add(targets[cell.dataset.target].name);
      state.stage.add(stage.name);
      changed();
      go(shown[0]?.id);
    };
    table.addEventListener("mouseover", (event) => { const cell = cellOf(event); if (cell) showTip(cell); else hideTip(); });
    table.addEventListener("mouseleave", hideTip);
    table.addEventListener("focusin", (event) => {
      const cell = cellOf(event);
      if (!cell) return hideTip();
      current.tabIndex = -1;
      current = cell;
      current.tabIndex = 0;
      showTip(cell);
    });
    table.addEventListener("focusout", hideTip);
    table.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) act(cell); });
    table.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      const row = rows.findIndex((cells) => cells.includes(cell)), column = rows[row].indexOf(cell);
      const to = { ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], Home: [row, 0], End: [row, rows[row].length - 1] }[event.key];
      if (event.key === "Escape") hideTip();
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(cell); }
      if (!to) return;
      event.preventDefault();
      rows[to[0]]?.[to[1]]?.focus();
    });
  }

  // Targets. Each is made when it is opened.

  const growingParts = new Set();

  function openTarget(number) {
    const section = byId(`target-${number + 1}`);
    section.open = true;
    fillTarget(section);
    section.firstElementChild.focus({ preventScroll: true });
    section.scrollIntoView();
  }

  function fillTarget(section) {
    const body = section.querySelector(".body");
    if (body.firstChild) return;
    const target = targets[section.dataset.target];
    const number = findings.filter((one) => one.target === target.name).length;
    if (number) body.append(make("button", { type: "button", class: "control", onclick: () => { clear(); state.target.add(target.name); changed(); go(shown[0].id); } }, `Show its ${plural(number, "finding")}`));
    const made = [stagesPart(target), compilationPart(target), programPart(target), sizesPart(target), ...operatorParts(target), neverRanPart(target)];
    body.append(...made.filter(Boolean));
  }

  /** A part that is made when it is opened; `isOpen`: at once. */
  function part(title, fill, isOpen = false) {
    const box = make("details", { class: "part", open: isOpen }, make("summary", {}, title));
    const once = () => { if (!box.filled) { box.filled = true; box.append(...[fill(box)].flat().filter(Boolean)); } };
    box.fill = once;
    if (isOpen) once();
    box.addEventListener("toggle", () => { if (box.open) once(); });
    return box;
  }

  function table(heads, rows) {
    const numbers = heads.map((head) => head.startsWith("#"));
    return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Table of ${heads.join(", ").replaceAll("#", "")}` }, make("table", { class: "plain" },
      make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", { scope: "col", class: numbers[i] ? "number" : false }, head.replace("#", ""))))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) => make("td", { class: numbers[i] ? "number" : i === 0 ? "whole" : false }, ...[cell].flat().map((one) => (typeof one === "string" ? visible(one) : one)))))))));
  }

  function stagesPart(target) {
    if (!target.stages.length) return null;
    return part("Stages", () => [
      table(["stage", "status", "#seconds", "detail"], target.stages.map((stage) => [stage.name, status(stage.status), stage.seconds,
        [...[stage.detail, stage.support, stage.recalled ? "not compiled anew" : ""].filter(Boolean).map((text) => make("div", {}, inline(text))),
          ...(stage.repros ?? []).map((path) => make("div", {}, "again: ", make("code", {}, visible(`python ${path}`)))),
          stage.artifact ? make("div", {}, "kept: ", make("code", {}, visible(stage.artifact))) : ""]])),
      ...target.stages.filter((stage) => stage.swapped).map((stage) => part(`Operators that the decompositions of ${stage.name} change`, () => table(["operator", "#torch's table", "#yours"], stage.swapped.map((row) => row.map(String))))),
    ], true);
  }

  function sizesPart(target) {
    if (!target.shapes && !target.guards.length) return null;
    return part("Declared sizes and guards", () => [
      target.shapes ? make("pre", { tabindex: "0", role: "group", "aria-label": "Dynamic shapes" }, coloured(target.shapes)) : null,
      target.guards.length ? table(["what the program demands", "where", "source"], target.guards.map((guard) => [inline(guard.text), guard.path ? place(guard.path, guard.line) : "", sourceLine(guard.path, guard.line)])) : null,
    ], true);
  }

  const sourceLine = (path, line) => {
    const text = path && sources[path]?.[line];
    return text ? make("code", {}, coloured(text.trim())) : "";
  };

  function compilationPart(target) {
    const found = target.compilation;
    if (!found.graphs.length && !found.graph_breaks.length && !found.recompiles.length && !found.cost) return null;
    const title = `torch.compile: ${plural(found.graphs.length, "graph")}, ${plural(found.graph_breaks.length, "break")}`;
    return part(title, () => [found.graphs.length ? pieces(found) : null,
      found.graph_breaks.length ? [make("h5", {}, "Breaks in the call tree"), callTree(found.graph_breaks)] : null,
      found.recompiles.length ? [make("h5", {}, "What is compiled again"), table(["where", "guard", "what changed", "#times", "what to write"], found.recompiles.map((one) => [one.path ? place(one.path, one.line) : "no line", make("code", {}, visible(one.guard)), inline(one.changed), `${one.times}${one.over_limit ? ", then given up" : ""}`, one.mend ? [...inline(one.mend), one.mend_tried ? " (tried: it ends)" : ""] : ""]))] : null,
      found.cost ? [make("h5", {}, "Time of a call"), costs(found.cost)] : null,
      found.cost?.modules?.length ? flame(found) : null].flat(), true);
  }

  const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

  /** The graphs, each as long as its share of the time of a warm call, and the breaks between them. */
  function pieces(found) {
    const measured = found.graphs.filter((graph) => graph.share !== null);
    const bar = make("div", { class: "bar", role: "img", "aria-label": `Shares of the time of a warm call: ${found.graphs.map((graph, i) => `graph ${i + 1} ${graph.share === null ? "not measured" : percent(graph.share)}`).join(", ")}` });
    const rest = Math.max(0, 1 - measured.reduce((sum, graph) => sum + graph.share, 0));
    for (const [index, graph] of found.graphs.entries()) {
      if (graph.share === null) continue;
      const piece = make("span", { class: "graph" }, `${index + 1}`);
      piece.style.flex = `${graph.share} 0 0`;
      bar.append(piece);
    }
    if (rest > 0.005) {
      const piece = make("span", { class: "rest" }, `outside of the graphs ${percent(rest)}`);
      piece.style.flex = `${rest} 0 0`;
      bar.append(piece);
    }
    const flow = make("ol", { class: "flow" }), order = found.order.length ? found.order : found.graphs.map((_, i) => ["graph", i]);
    const share = (graph) => {
      if (graph.share === null) return "";
      const length = make("span", { class: "share", "aria-hidden": "true" });
      length.style.width = `${Math.max(2, 160 * graph.share)}px`;
      return [`, ${percent(graph.share)}`, length];
    };
    growingParts.add(growing(flow, order, ([kind, index]) => {
      if (kind === "graph") {
        const graph = found.graphs[index];
        return make("li", {}, `graph ${index + 1}: ${plural(graph.operators, "operator")}`, graph.path ? ` from ${place(graph.path, graph.line)}` : "", ...[share(graph)].flat());
      }
      const broken = found.graph_breaks[index];
      return make("li", { class: "is-break" }, `${broken.kind}${broken.id ? ` ${broken.id}` : ""} at ${broken.path ? place(broken.path, broken.line) : "no line"}`);
    }, 200));
    return make("div", {}, measured.length ? [make("h5", {}, "Share of a warm call's time"), bar] : [], make("h5", {}, "Graphs and breaks, in their order"), flow);
  }

  function callTree(breaks) {
    const root = { calls: new Map(), breaks: [] };
    for (const one of breaks) {
      let node = root;
      for (const frame of one.frames.length ? one.frames : [one.path ? place(one.path, one.line) : "no line"]) {
        if (!node.calls.has(frame)) node.calls.set(frame, { calls: new Map(), breaks: [] });
        node = node.calls.get(frame);
      }
      node.breaks.push(one);
    }
    const told = (one) => make("div", { class: "break" },
      make("strong", {}, one.kind), one.id ? [" ", one.url?.startsWith("https://") ? make("a", { href: one.url, rel: "noreferrer" }, one.id) : one.id] : "", one.times > 1 ? `, ${one.times} times` : "", one.rule ? [", rule ", make("strong", {}, one.rule)] : "",
      make("div", {}, inline(one.reason)), sourceLine(one.path, one.line));
    const list = (node) => make("ul", {}, [...node.calls].map(([frame, next]) => make("li", {}, make("span", { class: "place" }, visible(frame)), next.breaks.map(told), next.calls.size ? list(next) : "")));
    const tree = list(root);
    tree.className = "tree";
    return tree;
  }

  function costs(cost) {
    const row = (name, value) => [make("dt", {}, name), make("dd", {}, value)];
    return make("dl", { class: "facts" }, row("eager", `${cost.eager_ms} ms`), row(`compiled (${cost.backend})`, `${cost.compiled_ms} ms, ${cost.ratio} x eager's time`), row("compiling", `${cost.compile_s} s`));
  }

  /** A warm call of eager: each call of a module as long as its share of the time, below the call that it is made in.
   *  A module is marked in whose own lines a graph ends. What is too short to be seen stands in the table alone. */
  function flame(found) {
    const calls = found.cost.modules.map((row) => ({ ...row, inside: [], breaks: found.graph_breaks.filter((one) => row.path !== null && one.path === row.path && one.line >= row.line && one.line <= row.end_line) }));
    const roots = [], around = [];
    for (const call of calls) {
      around.length = call.depth;
      (around.at(-1)?.inside ?? roots).push(call);
      around.push(call);
    }
    const total = roots.reduce((sum, call) => sum + call.ms, 0);
    if (!total) return [];
    const named = (call) => (call.name ? `${call.name} (${call.class})` : call.class);
    const cut = (call) => (call.breaks.length ? plural(call.breaks.length, "break") : "");
    const grow = (ms) => `${(1e6 * ms) / total} 0 0`; // what adds up to less than 1 would leave a part of the row empty
    const row = (inside, ms) => {
      const shown = inside.filter((call) => call.ms / total > 0.003);
      if (!shown.length) return "";
      const line = make("div", { class: "inside" }, shown.map((call) => {
        const box = make("div", { class: call.breaks.length ? "call is-cut" : "call", title: [named(call), `${call.ms} ms`, percent(call.ms / total), cut(call)].filter(Boolean).join(", ") },
          make("span", { class: "what" }, visible(named(call))), row(call.inside, call.ms));
        box.style.flex = grow(call.ms);
        return box;
      }));
      const rest = make("div", {});
      rest.style.flex = grow(Math.max(0, ms - shown.reduce((sum, call) => sum + call.ms, 0)));
      line.append(rest);
      return line;
    };
    return [make("h5", {}, "Eager's time, by module"), make("div", { class: "flame", "aria-hidden": "true" }, row(roots, total)),
      part("Eager's time as a table", () => table(["module", "#ms", "#share", "breaks", "forward"], calls.map((call) => [`${"\u00a0\u00a0".repeat(call.depth)}${named(call)}`, String(call.ms), percent(call.ms / total), cut(call), call.path ? place(call.path, call.line) : ""])))];
  }

  function operatorParts(target) {
    return target.stages.filter((stage) => stage.operators).map((stage) => {
      const total = stage.operators.reduce((sum, row) => sum + row[1], 0);
      return part(`Operators of ${stage.name}: ${total} calls of ${plural(stage.operators.length, "operator")}`, () =>
        table(["operator", "#calls", "support", "first line", "reason"], stage.operators.map(([name, count, support, path, line, reason]) => [make("code", {}, visible(name)), String(count), make("span", { class: `is-${support}` }, support), path ? place(path, line) : "", reason])));
    });
  }

  function neverRanPart(target) {
    if (!target.never_ran.length) return null;
    return part(`Lines that no sample ran: ${plural(target.never_ran.length, "region")}`, () => target.never_ran.map((region) => [
      make("p", { class: "file" }, place(region.path, region.line)),
      make("p", {}, inline(region.message)),
      listing(region.path, range(region.line - 2, region.last), (number) => ({ isPlace: number >= region.line }), `Lines of ${region.path} that no sample ran`),
      region.last < region.end_line ? make("p", { class: "muted" }, `… to line ${region.end_line}`) : null]).flat());
  }

  // The exported program beside its source. A line may have operations in many places of the program, once for each time
  // that it was traced; what is under the mouse, or was chosen with the arrow keys, is marked on both sides.

  function programPart(target) {
    if (!target.program) return null;
    const { graphs, facts, mode, around } = target.program;
    const operations = graphs.reduce((sum, graph) => sum + graph.blocks.reduce((n, block) => n + block.operations.length, 0), 0);
    return part(`Exported program (${mode}): ${plural(operations, "operation")}`, () => {
      const inside = make("dl", { class: "facts" }, facts.map(([label, items]) => fact(label, items.slice(0, 40).map((item) => make("div", {}, make("code", {}, visible(item)))), items.length > 40 ? `and ${items.length - 40} more` : "")));
      return [make("p", { class: "hint control" }, "Hover a line of either side, or focus the source and use the arrow keys."), program(graphs, around), part("Inputs, outputs and what was lifted", () => inside)];
    });
  }

  function program(graphs, around) {
    const blocks = graphs.flatMap((graph) => [{ head: graph.name }, ...graph.blocks]).filter((one) => one.blocks === undefined && (one.head === undefined || one.head !== ""));
    const keyOf = (block) => place(block.path ?? "", block.line ?? "");
    const counts = new Map(), texts = new Map(), firstOf = new Map();
    for (const [index, block] of blocks.entries()) {
      if (!block.operations || !block.path) continue;
      counts.set(keyOf(block), (counts.get(keyOf(block)) ?? 0) + block.operations.length);
      texts.set(keyOf(block), block.text);
      if (!firstOf.has(keyOf(block))) firstOf.set(keyOf(block), index);
    }
    // The lines of source: those that have operations, and some around them.
    const lines = [];
    const files = new Map();
    for (const block of blocks) if (block.path) files.set(block.path, (files.get(block.path) ?? new Set()).add(block.line));
    for (const [path, used] of files) {
      lines.push({ file: path });
      const wanted = [...new Set([...used].flatMap((line) => range(line - around, line + around)))].filter((line) => used.has(line) || sources[path]?.[line] !== undefined).sort((a, b) => a - b);
      wanted.forEach((line, i) => {
        if (i && line > wanted[i - 1] + 1) lines.push({ gap: line - wanted[i - 1] - 1 });
        lines.push({ path, line, key: place(path, line) });
      });
    }
    // The source names each file in full; beside an operation its last part is enough, where no two files share it.
    const last = (path) => path.split("/").at(-1);
    const isShared = (path) => [...files.keys()].some((other) => other !== path && last(other) === last(path));
    const named = (block) => (block.path ? place(isShared(block.path) ? block.path : last(block.path), block.line) : "no line");
    const lineOf = new Map(lines.map((one, index) => [one.key, index]));
    const onSource = new Map(), onProgram = new Map(); // key -> elements
    const source = make("div", { class: "inner" }), operations = make("div", { class: "inner" });
    const left = make("div", { class: "pane source", tabindex: "0", role: "listbox", "aria-label": "Source lines with operations" }, source);
    const right = make("div", { class: "pane operations", tabindex: "0", role: "group", "aria-label": "Operations of the program" }, operations);
    const name = `program-${++program.made}`;
    const sourceRows = growing(source, lines, (one, index) => {
      if (one.file) return make("p", { class: "file", role: "none" }, one.file);
      if (one.gap) { const row = gapRow(one.gap); row.setAttribute("role", "none"); return row; }
      const [row] = rowOf(one.line, sources[one.path]?.[one.line] ?? texts.get(one.key) ?? "");
      const count = counts.get(one.key);
      if (!count) { row.setAttribute("role", "none"); return row; }
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", "false");
      row.id = `${name}-${index}`;
      row.dataset.key = one.key;
      row.append(make("span", { class: "counted" }, String(count)));
      onSource.set(one.key, [row]);
      return row;
    }, 300, { pane: left });
    const programRows = growing(operations, blocks, (block) => {
      if (block.head) return make("p", { class: "file" }, block.head);
      const text = block.operations.map(([value, type, call, inPlace]) => [value, type ? make("span", { class: "type" }, `: ${type}`) : "", ` = ${visible(call)}${inPlace ? "  (in place)" : ""}\n`]);
      const made = make("div", { class: "block", "data-key": keyOf(block) }, make("span", { class: "at" }, `${named(block)}\n`), text.flat());
      if (!onProgram.has(keyOf(block))) onProgram.set(keyOf(block), []);
      onProgram.get(keyOf(block)).push(made);
      return made;
    }, 120, { pane: right });
    growingParts.add(sourceRows).add(programRows);
    let hot = "";
    const light = (key, origin) => {
      if (key === hot) return;
      for (const one of [...(onSource.get(hot) ?? []), ...(onProgram.get(hot) ?? [])]) { one.classList.remove("is-hot"); if (one.role === "option") one.ariaSelected = "false"; }
      hot = key;
      if (!key) return;
      if (origin === left && firstOf.has(key)) programRows.reach(firstOf.get(key));
      if (origin === right && lineOf.has(key)) sourceRows.reach(lineOf.get(key));
      for (const one of [...(onSource.get(key) ?? []), ...(onProgram.get(key) ?? [])]) { one.classList.add("is-hot"); if (one.role === "option") one.ariaSelected = "true"; }
      const other = origin === left ? right : left, there = (origin === left ? onProgram : onSource).get(key) ?? [];
      // The other side goes there only where nothing of it is in sight.
      const isSeen = (one) => one.offsetTop + one.offsetHeight > other.scrollTop && one.offsetTop < other.scrollTop + other.clientHeight;
      if (there.length && !there.some(isSeen)) other.scrollTop = there[0].offsetTop - other.clientHeight / 3;
    };
    for (const pane of [left, right]) {
      pane.addEventListener("mouseover", (event) => { const key = event.target.closest("[data-key]")?.dataset.key; if (key) light(key, pane); });
    }
    left.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      let at = lineOf.get(hot) ?? (step > 0 ? -1 : lines.length);
      do at += step; while (at >= 0 && at < lines.length && !counts.has(lines[at].key));
      if (at < 0 || at >= lines.length) return;
      sourceRows.reach(at);
      light(lines[at].key, left);
      left.setAttribute("aria-activedescendant", `${name}-${at}`);
      onSource.get(lines[at].key)[0].scrollIntoView({ block: "nearest" });
    });
    return make("div", { class: "program" }, left, right);
  }
  program.made = 0;

  for (const section of document.querySelectorAll(".target")) section.addEventListener("toggle", () => { if (section.open) fillTarget(section); });
  document.querySelector(".matrix")?.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-target]");
    if (link) { event.preventDefault(); openTarget(Number(link.dataset.target)); }
  });

  // The page as a whole.

  for (const link of document.querySelectorAll("[data-skip]")) {
    link.addEventListener("click", (event) => { // the address is the state of the filters, so no link of ours may change it
      event.preventDefault();
      byId(link.dataset.skip).focus({ preventScroll: true });
      byId(link.dataset.skip).scrollIntoView();
    });
  }

  addEventListener("resize", () => drawTrails(byId("list")));

  const themes = { system: ["as the system", "light dark"], light: ["light", "light"], dark: ["dark", "dark"] };
  const kept = { // the browser may keep nothing for a page that is a file
    get: () => { try { return localStorage.getItem("exportlint-theme"); } catch { return null; } },
    set: (name) => { try { localStorage.setItem("exportlint-theme", name); } catch { /* as above */ } },
  };
  let theme = kept.get() in themes ? kept.get() : "system";
  const showTheme = () => {
    document.documentElement.style.colorScheme = themes[theme][1];
    byId("theme").textContent = `Theme: ${themes[theme][0]}`;
  };
  byId("theme").addEventListener("click", () => {
    const names = Object.keys(themes);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    kept.set(theme);
    showTheme();
  });
  byId("theme").hidden = false;
  showTheme();

  addEventListener("beforeprint", () => { // paper cannot be opened
    grown.all();
    for (const one of shown) open(one, elements.get(one.id));
    for (const section of document.querySelectorAll(".target")) { section.open = true; fillTarget(section); }
    for (let found; (found = [...document.querySelectorAll(".part:not([open])")]).length;) for (const box of found) { box.open = true; box.fill(); }
    for (const one of growingParts) one.all();
  });

  function start() {
    read();
    showFindings();
    if (state.finding) go(state.finding, { open: true });
  }
  makeFilters();
  useLadder();
  start();
  addEventListener("hashchange", start);
})();
