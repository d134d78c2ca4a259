// The page of `bombay play`, `bombay watch` and `bombay board draw`. The server decides everything: what is legal, what is
// hidden, what a position looks like. Here its answers are shown, and clicks are sent with the version they were made for.
"use strict";

const NARROW = matchMedia("(max-width: 760px)");
const WAIT = { thinking: 250, idle: 1200, lost: 2500 }; // milliseconds between two looks
const MAP_PARTS = "[data-part=map]";
const SIDE_PARTS = "[data-part=side], [data-part=bag], [data-part=legend], [data-market]";
const MIN_TARGET = 56; // units of the drawing: 24 pixels or more on a narrow screen
const MAX_NEWS = 12; // events that are announced at once
const byId = (id) => document.getElementById(id);
let state = null; // the server's last answer
let told = 0; // entries of the log that have been announced
let undone = false; // whether the last change took a turn back
let wantsFocus = false; // the keyboard's place was lost to a change: give it to the first action once there is one
let busy = false; // a change has been sent and not yet answered
let advice = null; // the hint of the turn under way
let watching = null; // the game and event that the slider asks for

// --- elements ---

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function button(key, words, effect, onclick, more = {}) {
  const small = effect ? element("small", {}, effect) : null;
  return element("button", { type: "button", "data-key": key, onclick, ...more }, words, small);
}

function show(id, ...children) {
  const shown = children.filter((child) => child !== null);
  byId(id).replaceChildren(...shown);
  byId(id).hidden = shown.length === 0;
}

function table(caption, columns, rows) {
  const head = element("tr", {}, ...columns.map((words) => element("th", { scope: "col" }, words)));
  const body = rows.map(({ cells, mover }) =>
    element("tr", { class: mover ? "mover" : null }, ...cells.map((cell, column) =>
      element(column ? "td" : "th", { scope: column ? null : "row" }, String(cell)))));
  return element("table", { "aria-label": caption }, element("thead", {}, head), element("tbody", {}, ...body));
}

// --- the server ---

function report(message) {
  show("error", message ? document.createTextNode(message) : null);
}

async function send(name, data) {
  const answer = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(data),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function change(name, data = {}) {
  if (busy) return;
  busy = true;
  let answer = null;
  try {
    answer = await send(name, { version: state.version, ...data });
    report(null);
  } catch (error) {
    report(error.message);
  } finally {
    busy = false;
  }
  undone = name === "undo";
  if (answer) renderNewer(answer);
  else await look();
}

async function look() {
  const wanted = watching ?? (state ? { seen: state.version } : {});
  const answer = await fetch(`api/state?${new URLSearchParams(wanted)}`);
  if (answer.status === 204) return;
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  if (!busy) renderNewer(found); // clicks do nothing until the change is answered, and its answer shows the position too
}

// Answers may arrive in another order than they were asked for. In a game, what is shown already is not drawn again: a click is
// lost when its button is replaced between the press and the release.
function renderNewer(found) {
  const isShown = found.mode === "play" && found.version === state?.version;
  if (!isShown && !(found.version < state?.version)) render(found);
}

async function keepLooking() {
  let wait = WAIT.idle;
  try {
    if (!busy) await look();
    if (state?.mode === "play" && !state.human && !state.over && !state.fault) wait = WAIT.thinking;
    if (byId("error").dataset.lost) {
      delete byId("error").dataset.lost;
      report(null);
    }
  } catch (error) {
    byId("error").dataset.lost = "true";
    const lost = error instanceof TypeError; // what `fetch` throws
    report(lost ? "The server does not answer. Is the command in the terminal still running?" : error.message);
    wait = WAIT.lost;
  }
  if (!state || state.mode === "play") setTimeout(keepLooking, wait);
}

// --- rendering ---

function render(next) {
  const focused = document.activeElement;
  const key = focused?.closest("[data-key]")?.dataset.key ?? null;
  const before = state;
  state = next;
  byId("when").textContent = next.when ?? "";
  byId("headline").textContent = headline(next);
  document.title = title(next);
  drawBoard(next.svg);
  byId("game").hidden = !next.seats;
  if (next.seats) renderSeats(next);
  if (next.board) renderWords(next.board);
  if (next.log) renderLog(next.log, before);
  if (next.mode === "play") renderPlay(next);
  if (next.mode === "watch") renderWatch(next);
  if (next.mode === "board") renderEditor(next);
  renderAccount(next.account);
  if (next.mode === "play" && before) animateNew(next, before);
  restoreFocus(key);
}

function restoreFocus(key) {
  if (key !== null) wantsFocus = true;
  if (!wantsFocus) return;
  const same = key === null ? null : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const first = byId("actions").querySelector("button:not(:disabled)") ?? byId("handover").querySelector("button");
  const place = same && !same.disabled ? same : first;
  if (place) wantsFocus = false;
  (place ?? byId("headline")).focus({ preventScroll: true });
}

// A seat as it is called where a sentence begins: "You", or the name of its agent.
const who = (next, seat) => next.seats[seat].called;

function headline(next) {
  if (next.mode !== "play" || next.over) return next.headline;
  if (next.fault) return `${who(next, next.fault.seat)} cannot act`;
  if (next.handing_over !== null) return `${who(next, next.handing_over)} is next`;
  if (!next.human) return `${who(next, next.mover)} is thinking …`;
  return next.turn_done ? `${who(next, next.mover)}: the turn is done` : next.headline;
}

function title(next) {
  if (next.mode !== "play" || next.over) return `${next.headline} – Bombay`;
  return next.human && next.mover === next.you ? "Your turn – Bombay" : `${headline(next)} – Bombay`;
}

// --- the board ---

function drawBoard(text) {
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const svg = document.importNode(drawn, true);
  svg.setAttribute("aria-hidden", "true"); // the element around it has the name
  svg.classList.toggle("marked", svg.querySelector("[data-move]") !== null); // the drawing shows the legal moves itself
  byId("map").replaceChildren(svg);
  addTargets(svg);
  fitBoard();
}

// What a list of elements covers of their drawing: x, y, width and height.
function covered(elements) {
  const corners = [...elements].flatMap((part) => {
    const box = part.getBBox();
    if (box.width === 0 && box.height === 0) return []; // it draws nothing
    const way = part.ownerSVGElement.getScreenCTM().inverse().multiply(part.getScreenCTM());
    const from = new DOMPoint(box.x, box.y).matrixTransform(way);
    const to = new DOMPoint(box.x + box.width, box.y + box.height).matrixTransform(way);
    return [from, to];
  });
  const [xs, ys] = [corners.map((corner) => corner.x), corners.map((corner) => corner.y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return [left, top, Math.max(...xs) - left, Math.max(...ys) - top];
}

// On a narrow screen the map fills it, and the markets follow in a drawing of their own.
function fitBoard() {
  const svg = byId("map").querySelector("svg");
  if (!svg) return;
  svg.dataset.whole ??= svg.getAttribute("viewBox");
  svg.setAttribute("viewBox", svg.dataset.whole);
  byId("side").replaceChildren();
  const [map, side] = [MAP_PARTS, SIDE_PARTS].map((parts) => svg.querySelectorAll(parts));
  if (!NARROW.matches || !map.length || !side.length) return;
  const [mapBox, sideBox] = [covered(map), covered(side)];
  const copy = svg.cloneNode(true);
  for (const target of copy.querySelectorAll("[data-target]")) target.remove();
  copy.setAttribute("viewBox", sideBox.join(" "));
  byId("side").append(copy);
  svg.setAttribute("viewBox", mapBox.join(" "));
}

// What can be clicked on the map: the sites of legal moves, or in the editor all sites.
function addTargets(svg) {
  const chosen = editor.chosen;
  const sites = state.mode === "board" ? Object.keys(state.sites) : (state.legal ?? []).map((choice) => choice.site);
  for (const site of sites.filter(Boolean)) {
    const places = svg.querySelectorAll(`[data-site="${CSS.escape(site)}"]`);
    if (!places.length) continue;
    const [left, top, wide, high] = covered(places);
    const [width, height] = [Math.max(wide + 10, MIN_TARGET), Math.max(high + 10, MIN_TARGET)];
    const target = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const at = { x: left + (wide - width) / 2, y: top + (high - height) / 2, width, height, rx: 14 };
    for (const [name, value] of Object.entries(at)) target.setAttribute(name, value);
    target.setAttribute("class", site === chosen ? "target chosen" : "target");
    target.dataset.target = site;
    svg.append(target);
  }
}

// The second click of a double click would meet whatever the first one has brought under the pointer.
document.addEventListener("click", (event) => {
  if (event.detail > 1 && state?.mode === "play") event.stopPropagation();
}, true);

byId("map").addEventListener("click", (event) => {
  const site = event.target.closest("[data-target]")?.dataset.target ?? event.target.closest("[data-site]")?.dataset.site;
  if (state?.mode === "board") clickEditor(site, event);
  else if (site && (state?.legal ?? []).some((choice) => choice.site === site)) change("act", { action: `move:${site}` });
});

function aim(site, on) {
  if (site) byId("map").querySelector(`[data-target="${CSS.escape(site)}"]`)?.classList.toggle("aimed", on);
}

// --- playing ---

function renderPlay(next) {
  const choices = next.legal.map(({ action, site, words, effect }) =>
    button(action, words, effect, () => change("act", { action }), {
      class: next.turn_done ? "main" : null,
      onmouseenter: () => aim(site, true),
      onmouseleave: () => aim(site, false),
      onfocus: (event) => aim(site, event.target.matches(":focus-visible")), // not after a click
      onblur: () => aim(site, false),
    }));
  byId("actions").replaceChildren(...choices);
  const handover = next.handing_over === null ? [] : [
    element("p", {}, `Only seat ${next.handing_over} should look at the screen now.`),
    button("ready", `Show what seat ${next.handing_over} sees`, "", () => change("ready"), { class: "main" }),
  ];
  show("handover", ...handover);
  renderFault(next.fault, next.substitutes);
  renderTools(next);
  renderHint(next);
  renderRound(next);
}

// A card for each turn that others have taken since one's own.
function renderRound(next) {
  const cards = next.round.map(({ seat, way, words }) => element("li", { class: seat === null ? "set" : null },
    seat === null ? "" : element("strong", {}, `${who(next, seat)}: `), [way.join(" → "), words].filter(Boolean).join(", ")));
  const moves = next.round.flatMap(({ seat, way }) => way.slice(1).map((to, place) => ({ seat, move: [way[place], to] })));
  drawWays(moves);
  const paces = element("select", { "aria-label": "Speed", "data-key": "pace", onchange: () => (film.pace = paces.value) },
    ...Object.keys(PACES).map((name) => element("option", { selected: name === film.pace }, name)));
  const controls = CALM.matches || !moves.length ? "" : element("div", { class: "controls" },
    button("again", "Again", "", () => animate(moves)),
    button("pause", film.paused ? "Go on" : "Pause", "", () => {
      film.paused = !film.paused;
      renderRound(next);
      byId("round").querySelector("[data-key=pause]").focus();
    }), paces);
  show("round", ...(cards.length ? [element("ul", {}, ...cards), controls] : []));
}

// --- moves on the map ---

const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const PACES = { slow: 900, normal: 450, fast: 200 }; // milliseconds a move
const film = { number: 0, pace: "normal", paused: false }; // an animation ends when the next one gets its number

const trailOf = (svg, [from, to]) =>
  [`${from} ${to}`, `${to} ${from}`].map((ends) => svg.querySelector(`[data-trail="${CSS.escape(ends)}"]`)).find(Boolean);

// The ways of a round along their trails, in the colours of the seats; where seats share a trail, their dashes alternate.
function drawWays(moves) {
  const svg = byId("map").querySelector("svg");
  for (const way of svg.querySelectorAll(".way")) way.remove();
  for (const { seat, move } of moves) {
    const trail = trailOf(svg, move);
    const body = svg.querySelector(`[data-elephant="${seat}"] path[fill^="#"]`);
    if (!trail || !body) continue;
    const ways = ["#24221e", body.getAttribute("fill")].map((stroke, place) => {
      const way = trail.cloneNode();
      way.removeAttribute("data-trail");
      const told = { class: place ? "way" : "way edge", stroke, "stroke-dashoffset": -12 * seat };
      for (const [name, value] of Object.entries(told)) way.setAttribute(name, value);
      return way;
    });
    trail.after(...ways);
  }
}

// Let elephants go along their trails, one move after the other. Where less motion is wanted, only the ways are drawn.
async function animate(moves) {
  const svg = byId("map").querySelector("svg");
  const number = ++film.number;
  if (CALM.matches) return;
  const copies = new Map();
  for (const { seat, move } of moves) {
    const elephant = svg.querySelector(`[data-elephant="${seat}"]`);
    if (copies.has(seat) || !elephant || !trailOf(svg, move)) continue;
    const copy = elephant.cloneNode(true);
    copy.removeAttribute("data-elephant");
    copy.setAttribute("class", "walking");
    elephant.setAttribute("visibility", "hidden");
    svg.append(copy);
    copies.set(seat, { copy, elephant });
    walk(copy, svg, move, 0);
  }
  for (const { seat, move } of moves)
    if (copies.has(seat) && trailOf(svg, move)) await glide(copies.get(seat).copy, svg, move, number);
  for (const { copy, elephant } of copies.values()) {
    copy.remove();
    elephant.removeAttribute("visibility");
  }
}

// What others have moved since the position that was shown before.
function animateNew(next, before) {
  const moves = next.log.slice(before.log.length).filter(({ seat, move }) => move && !(before.human && seat === before.mover));
  if (moves.length) animate(moves);
}

// Place an elephant on a trail, at a share of its way.
function walk(copy, svg, move, share) {
  const trail = trailOf(svg, move);
  const back = trail.dataset.trail !== move.join(" ");
  const { x, y } = trail.getPointAtLength(trail.getTotalLength() * (back ? 1 - share : share));
  copy.setAttribute("transform", `translate(${x} ${y})`);
}

function glide(copy, svg, move, number) {
  return new Promise((done) => {
    let spent = 0, last = null;
    const step = (now) => {
      if (number !== film.number || !copy.isConnected) return done();
      if (!film.paused && last !== null) spent += now - last;
      last = now;
      walk(copy, svg, move, Math.min(1, spent / PACES[film.pace]));
      return spent < PACES[film.pace] ? requestAnimationFrame(step) : done();
    };
    requestAnimationFrame(step);
  });
}

function renderTools(next) {
  byId("tools").replaceChildren(
    button("undo", "Take the turn back", "", () => change("undo"), { disabled: !next.can_undo }),
    button("hint", "Hint", "", askHint, { disabled: !next.adviser }),
    button("new", "New game", "", () => confirm("End this game and begin a new one?") && change("new")),
    next.has_record
      ? element("a", { class: "button", "data-key": "record", href: "api/record", download: "bombay-record.jsonl",
        title: next.over ? "Download the record" : "Download the record so far" }, "Record")
      : "",
  );
}

// The turn in which a hint was given; while it lasts, the hint stays.
const turnOf = (next) => `${next.when} ${next.mover}`;

async function askHint() {
  const { version, adviser, played } = state;
  show("hint", element("p", {}, `${adviser} is thinking …`));
  try {
    const found = await send("hint", { version });
    if (state.version !== version) return;
    advice = { turn: turnOf(state), played, ...found };
    renderHint(state);
  } catch (error) {
    show("hint");
    report(error.message);
  }
}

// Of a turn that was advised, the actions that are left to play; null once another action was taken.
function left(hint, next) {
  const whole = [...advice.played, ...hint.actions];
  return next.played.every((action, place) => action === whole[place]) ? whole.slice(next.played.length) : null;
}

function renderHint(next) {
  if (advice?.turn !== turnOf(next) || !next.human || next.over) advice = null;
  for (const trail of byId("map").querySelectorAll(".advised")) trail.remove();
  if (!advice) return show("hint");
  const turns = advice.turns.map((hint, place) => {
    const rest = left(hint, next)?.filter((action) => action !== "end_turn");
    const able = Boolean(rest?.length);
    const play = button(`hint ${place}`, "Play this turn", "", () => playTurn(rest),
      { disabled: !able, onmouseenter: () => able && mark(next, rest), onfocus: () => able && mark(next, rest) });
    return element("li", {}, element("strong", {}, hint.turn.join(", then ")), element("br"),
      `Expected to win ${(100 * hint.win_share).toFixed(0)} %, by ${hint.visits} simulation${hint.visits === 1 ? "" : "s"}. ${hint.why}`,
      hint.line.length ? element("small", {}, `Then it expects ${hint.line.join("; ")}.`) : "", play);
  });
  show("hint", element("strong", {}, `The best turns for ${advice.by}:`), element("ol", {}, ...turns));
  const best = advice.turns.map((hint) => left(hint, next)).find(Boolean);
  if (best) mark(next, best);
}

// The way of an advised turn on the map: its trails, and a frame around the site where it ends.
function mark(next, actions) {
  const svg = byId("map").querySelector("svg");
  for (const trail of svg.querySelectorAll(".advised")) trail.remove();
  let at = next.seats[next.mover].at;
  for (const action of actions.filter((name) => name.startsWith("move:"))) {
    const to = action.slice("move:".length);
    const trail = trailOf(svg, [at, to]);
    if (trail) {
      const copy = trail.cloneNode();
      copy.removeAttribute("data-trail");
      copy.setAttribute("class", "advised");
      trail.after(copy);
    }
    at = to;
  }
}

async function playTurn(actions) {
  for (const action of actions) {
    const before = state.version;
    await change("act", { action });
    if (state.version !== before + 1) return; // refused, or the game went on elsewhere
  }
}

function renderFault(fault, substitutes) {
  if (!fault) return show("fault");
  const choice = element("select", { id: "substitute", "data-key": "substitute" },
    ...substitutes.map((name) => element("option", {}, name)));
  show("fault",
    element("p", {}, `The agent in seat ${fault.seat} failed; the game is as before. ${fault.reason}`),
    button("retry", "Ask it again", "", () => change("retry")), " ",
    element("label", { for: "substitute" }, "or give the seat to: "), choice, " ",
    button("replace", "Replace", "", () => change("replace", { agent: choice.value })));
}

function renderSeats(next) {
  const columns = ["at", "rupees", "Clients", "Cities", "palaces", "bales"];
  const rows = next.seats.map((has) => ({
    mover: has.seat === next.mover,
    cells: [`${has.seat} ${has.name}`, ...columns.map((column) => has[column] ?? "hidden")],
  }));
  byId("seats").replaceChildren(table("What each seat has", ["seat", ...columns], rows));
  const sums = ["in hand", "empire", "fame", "total"];
  const ends = (next.standing ?? []).map((has, seat) =>
    ({ mover: seat === next.mover, cells: [`${seat} ${next.seats[seat].name}`, ...sums.map((sum) => has[sum])] }));
  show("standing", ...(ends.length
    ? [element("h3", {}, "If the game ended now"), table("If the game ended now", ["seat", ...sums], ends)] : []));
}

// The board for those who do not see it.
function renderWords(board) {
  byId("words").hidden = false;
  byId("told").replaceChildren(element("p", {}, board.turn), ...board.tables.flatMap(({ title, columns, rows }) =>
    [element("h3", {}, title), element("div", { class: "wide" }, table(title, columns, rows.map((cells) => ({ cells }))))]));
}

function renderLog(log, before) {
  const list = byId("log");
  const entries = log.map(({ seat, words }) =>
    element("li", { class: seat === null ? "set" : null }, seat === null ? words : `${who(state, seat)}: ${words}`));
  list.replaceChildren(...entries);
  list.scrollTop = list.scrollHeight;
  if (before && log.length > told) {
    const news = entries.slice(Math.max(told, log.length - MAX_NEWS)).map((entry) => entry.textContent);
    byId("news").textContent = news.join(" · ");
  } else if (log.length < told) byId("news").textContent = undone ? "The turn was taken back." : "";
  told = log.length;
}

function renderAccount(account) {
  if (!account) return show("account");
  const seats = account.rows.map((row, seat) => `${who(state, seat)}${row.wins ? `: ${row.wins}` : ""}`);
  const rows = account.columns.map((column) => ({
    mover: ["in hand", "final"].includes(column),
    cells: [column, ...account.rows.map((row) => row[column])],
  }));
  show("account", element("strong", {}, "The account of every rupee"),
    element("div", { class: "wide" }, table("The account of every rupee", ["", ...seats], rows)));
}

// --- watching ---

function renderWatch(next) {
  const go = async (event, game = next.game) => {
    watching = { game, event };
    try {
      await look();
      report(null);
    } catch (error) {
      report(error.message);
    }
  };
  byId("headline").textContent = `Event ${next.event} of ${next.last}: ${next.headline}`;
  if (next.fault) show("fault", element("p", {}, `Seat ${next.fault.seat} lost the game by a fault. ${next.fault.reason}`));
  else show("fault");
  if (byId("actions").dataset.game === String(next.game)) { // the slider that is being dragged stays
    byId("actions").querySelector("input").value = next.event;
    byId("actions").go = go;
    return;
  }
  const slider = element("input", {
    type: "range", min: 0, max: next.last, value: next.event, "data-key": "slider", "aria-label": "Event",
    oninput: () => byId("actions").go(slider.valueAsNumber),
  });
  const step = (by) => () => byId("actions").go(Math.min(next.last, Math.max(0, state.event + by)));
  const games = Array.from({ length: next.games }, (_, game) =>
    element("option", { value: game, selected: game === next.game }, `Game ${game + 1}`));
  const choice = next.games < 2 ? "" : element("select", {
    "aria-label": "Game", "data-key": "game", onchange: (event) => go(0, Number(event.target.value)),
  }, ...games);
  byId("actions").replaceChildren(choice, button("earlier", "Back", "", step(-1)), slider, button("later", "On", "", step(1)));
  byId("actions").dataset.game = next.game;
  byId("actions").go = go;
}

// --- drawing trails ---

const editor = { chosen: null, moving: false };

function renderEditor(next) {
  const press = (moving) => () => {
    Object.assign(editor, { moving, chosen: null });
    render(state);
  };
  byId("actions").replaceChildren(
    button("draw", "Draw trails", "", press(false), { "aria-pressed": String(!editor.moving) }),
    button("move", "Move sites", "", press(true), { "aria-pressed": String(editor.moving) }));
  byId("tools").replaceChildren(
    button("undo", "Undo", "", () => change("undo"), { disabled: !next.can_undo }),
    button("save", next.saved ? "Saved" : "Save", next.when, () => change("save"), { class: "main", disabled: next.saved }));
  const help = editor.moving ? "Click a site, then where it belongs."
    : "Click two sites to draw the trail between them, or to remove it.";
  const names = Object.keys(next.sites);
  const ends = ["from", "to"].map((end) =>
    element("select", { id: `trail-${end}`, "data-key": `trail-${end}`, "aria-label": `Trail ${end}` },
      ...names.map((name) => element("option", { selected: name === editor[end] }, name))));
  const both = () => {
    [editor.from, editor.to] = ends.map((end) => end.value);
    change("trail", { from: editor.from, to: editor.to });
  };
  const trails = next.trails.map(([from, to]) =>
    element("li", {}, button(`${from} ${to}`, `${from} – ${to} ×`, "", () => change("trail", { from, to }),
      { "aria-label": `Remove the trail from ${from} to ${to}` })));
  show("editor",
    element("p", {}, help),
    element("p", { class: next.problem ? null : "good", id: "problem" },
      next.problem ? `Not yet a board: ${next.problem}` : "This is a valid board: it can be played and trained on."),
    ...ends, button("both", "Draw or remove this trail", "", both),
    element("p", {}, `${next.trails.length} trails`), element("ul", { class: "trails" }, ...trails));
}

function clickEditor(site, event) {
  if (editor.moving && editor.chosen && !(site && site !== editor.chosen)) {
    const svg = byId("map").querySelector("svg");
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const moved = editor.chosen;
    editor.chosen = null;
    change("move", { site: moved, x: place.x, y: place.y });
  } else if (site && !editor.moving && editor.chosen && editor.chosen !== site) {
    const from = editor.chosen;
    editor.chosen = null;
    change("trail", { from, to: site });
  } else {
    editor.chosen = site === editor.chosen ? null : site ?? null;
    render(state);
  }
}

NARROW.addEventListener("change", fitBoard);
keepLooking();
