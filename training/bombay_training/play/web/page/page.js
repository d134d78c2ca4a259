// The page of `bombay play`, `bombay watch` and `bombay board draw`. The server decides everything: what is legal, what is
// hidden, what a position looks like. Here its answers are shown, and clicks are sent with the version they were made for.
"use strict";

const WAIT = { thinking: 250, idle: 1200, lost: 2500 }; // milliseconds between two looks
const MIN_TARGET = 24; // pixels
const MIN_TEXT = 11; // likewise
const MAX_NEWS = 12; // events that are announced at once
const byId = (id) => document.getElementById(id);
let state = null; // the server's last answer
let told = 0; // entries of the log that have been announced
let undone = false; // whether the last change took a turn back
let wantsFocus = false; // the keyboard's place was lost to a change: give it to the first action once there is one
let busy = false; // a change has been sent and not yet answered
let advice = null; // the hint of the turn under way
let film = null; // the recorded game that is watched

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
  const wanted = state?.mode === "play" ? { seen: state.version } : {};
  const answer = await fetch(`api/state?${new URLSearchParams(wanted)}`);
  if (answer.status === 204) return;
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  if (found.mode === "watch") return openFilm(found);
  if (!busy && !film) renderNewer(found); // clicks do nothing until the change is answered, and its answer shows the position too
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
    if (!busy && !film) await look();
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
  if (state?.mode !== "board" && !(film && !film.back)) setTimeout(keepLooking, wait);
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
  document.body.dataset.mode = next.mode;
  drawBoard(next.svg);
  byId("game").hidden = !next.seats;
  if (next.seats) renderSeats(next);
  if (next.board) renderWords(next.board);
  if (next.markets) renderMarkets(next.markets);
  if (next.legend) renderLegend(next.legend);
  if (next.mode === "play") {
    renderLog(next.log, before);
    renderPlay(next);
  }
  if (next.mode === "watch") renderWatch(next);
  else show("viewer");
  if (next.mode === "board") renderEditor(next);
  renderAccount(next.account);
  if (next.mode === "play" && before?.mode === "play") animateNew(next, before);
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
  enlargeWords(svg);
  addTargets(svg);
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

// Pixels of the screen that one unit of a drawing takes.
const scaleOf = (svg) => svg.getScreenCTM()?.a || 1;

// Where the drawing is small, its words are larger than drawn.
function enlargeWords(svg) {
  for (const words of svg.querySelectorAll("text")) {
    words.dataset.size ??= words.getAttribute("font-size");
    const scale = words.getScreenCTM()?.a || 1;
    words.setAttribute("font-size", Math.max(words.dataset.size, (MIN_TEXT + 0.1) / scale));
    const box = words.previousElementSibling, room = box?.localName === "rect" ? box.getAttribute("width") - 6 : 0;
    const squeezed = room > 30 && words.getComputedTextLength() > room; // a city's name
    for (const [name, value] of Object.entries({ textLength: room, lengthAdjust: "spacingAndGlyphs" }))
      if (squeezed) words.setAttribute(name, value);
  }
}

// What can be clicked on the map: the sites of legal moves, or in the editor all sites.
function addTargets(svg) {
  const chosen = editor.chosen;
  const sites = state.mode === "board" ? Object.keys(state.sites) : (state.legal ?? []).map((choice) => choice.site);
  for (const site of sites.filter(Boolean)) {
    const places = svg.querySelectorAll(`[data-site="${CSS.escape(site)}"]`);
    if (!places.length) continue;
    const [left, top, wide, high] = covered(places);
    const least = (MIN_TARGET + 1) / scaleOf(svg);
    const [width, height] = [Math.max(wide + 10, least), Math.max(high + 10, least)];
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
  const paces = element("select", { "aria-label": "Speed", "data-key": "pace", onchange: () => (motion.pace = paces.value) },
    ...Object.keys(PACES).map((name) => element("option", { selected: name === motion.pace }, name)));
  const controls = CALM.matches || !moves.length ? "" : element("div", { class: "controls" },
    button("again", "Again", "", () => animate(moves)),
    button("pause", motion.paused ? "Go on" : "Pause", "", () => {
      motion.paused = !motion.paused;
      renderRound(next);
      byId("round").querySelector("[data-key=pause]").focus();
    }), paces);
  show("round", ...(cards.length ? [element("ul", {}, ...cards), controls] : []));
}

// --- moves on the map ---

const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const PACES = { slow: 900, normal: 450, fast: 200 }; // milliseconds a move
const motion = { number: 0, pace: "normal", paused: false }; // an animation ends when the next one gets its number

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
  const number = ++motion.number;
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
      if (number !== motion.number || !copy.isConnected) return done();
      if (!motion.paused && last !== null) spent += now - last;
      last = now;
      walk(copy, svg, move, Math.min(1, spent / PACES[motion.pace]));
      return spent < PACES[motion.pace] ? requestAnimationFrame(step) : done();
    };
    requestAnimationFrame(step);
  });
}

function renderTools(next) {
  delete byId("tools").dataset.film;
  byId("tools").replaceChildren(
    button("undo", "Take the turn back", "", () => change("undo"), { disabled: !next.can_undo }),
    button("hint", "Hint", "", askHint, { disabled: !next.adviser }),
    button("new", "New game", "", () => confirm("End this game and begin a new one?") && change("new")),
    next.over ? button("watch", "Look at the game again", "", watchOwn) : "",
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

// What the markets and the bag hold: a sign for each colour, with its number.
function renderMarkets(markets) {
  const cells = markets.map(({ name, price, bales }) => element("div", {},
    element("strong", {}, name), price ? element("small", {}, price) : "",
    element("span", {}, ...(bales.length ? bales.map(([colour, count]) =>
      element("span", { class: `bale ${colour}`, title: `${count} ${colour}` }, `${colour[0].toUpperCase()} ${count}`)) : ["empty"]))));
  show("markets", ...cells);
}

function renderLegend(legend) {
  if (!byId("legend").hidden) return;
  byId("legend").hidden = false;
  byId("signs").replaceChildren(...legend.map(({ icon, words }) => {
    const drawn = document.importNode(new DOMParser().parseFromString(icon, "image/svg+xml").documentElement, true);
    drawn.setAttribute("aria-hidden", "true");
    return element("li", {}, drawn, words);
  }));
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

const EVENT_PAUSE = 700; // milliseconds between two events that are played
const MOST_COSTLY = 5; // turns that are listed
const WORTH_TELLING = 0.01; // of the win
const POOLED = ["seats", "tables", "markets", "legend"];
const percent = (share) => `${Math.round(100 * share)} %`;

// A position of a film; parts that several positions share stand in its pool.
function positionOf(event) {
  const one = { ...film.positions[event] };
  for (const name of POOLED) one[name] = one[name].map((number) => film.pool[number]);
  const svg = one.svg.map((number) => film.pool[number]).join("\n");
  return { ...one, svg, mode: "watch", board: { turn: one.turn, tables: one.tables }, event };
}

function openFilm(found) {
  stopPlaying();
  film = { timer: null, whose: found.you ?? "all", last: found.positions.length - 1, ...found };
  byId("log").dataset.film = "";
  go(0);
}

async function watchOwn() {
  try {
    const answer = await fetch("api/film");
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    openFilm({ ...found, back: state });
  } catch (error) {
    report(error.message);
  }
}

async function openGame(game) {
  try {
    const answer = await fetch(`api/state?game=${game}`);
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    report(null);
    openFilm(found);
  } catch (error) {
    report(error.message);
  }
}

function go(event, animated = false) {
  event = Math.max(0, Math.min(film.last, event));
  render(positionOf(event));
  const { seat, move } = film.log[event];
  motion.number += 1;
  if (animated && move) animate([{ seat, move }]);
}

function stopPlaying() {
  clearInterval(film?.timer);
  if (film) film.timer = null;
}

function playOrPause() {
  if (film.timer) stopPlaying();
  else {
    if (state.event === film.last) go(0);
    film.timer = setInterval(() => {
      if (state.event + 1 >= film.last) stopPlaying();
      go(state.event + 1, true);
    }, EVENT_PAUSE);
  }
  renderControls();
}

document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!film || !by || event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  stopPlaying();
  go(state.event + by, by > 0);
});

// The turn that an event belongs to; null without values.
function turnAt(event) {
  return film.turns.findLast((turn) => turn.first <= event) ?? film.turns[0] ?? null;
}

function renderWatch(next) {
  const words = film.log[next.event];
  byId("headline").textContent = next.event === film.last ? next.headline : eventWords(words);
  const fault = next.event === film.last ? film.fault : null;
  if (fault) show("fault", element("p", {}, `${who(next, fault.seat)} lost the game by a fault. ${fault.reason}`));
  else show("fault");
  state.account = next.event === film.last ? film.account : null;
  for (const id of ["round", "hint", "handover"]) show(id);
  renderControls();
  renderEvents();
  renderValues();
}

const eventWords = ({ seat, words }) => (seat === null ? words : `${who(state, seat)}: ${words}`);

function renderControls() {
  const step = (by) => () => {
    stopPlaying();
    go(state.event + by, by > 0);
  };
  const slider = byId("actions").querySelector("input[data-key=slider]") ?? element("input", {
    type: "range", min: 0, "data-key": "slider", "aria-label": "Event",
    oninput: (event) => {
      stopPlaying();
      go(event.target.valueAsNumber);
    },
  });
  slider.max = film.last;
  slider.value = state.event;
  slider.setAttribute("aria-valuetext", byId("headline").textContent);
  const count = element("span", { id: "count" }, `${state.event} of ${film.last}`);
  const buttons = [button("earlier", "Back", "", step(-1)), button("play", film.timer ? "Pause" : "Play", "", playOrPause),
    button("later", "On", "", step(1))];
  if (slider.isConnected) { // the slider that is being dragged stays
    for (const made of buttons) {
      const old = byId("actions").querySelector(`[data-key=${made.dataset.key}]`);
      if (old.textContent !== made.textContent) old.textContent = made.textContent;
    }
    byId("count").textContent = count.textContent;
  } else byId("actions").replaceChildren(...buttons, slider, count);
  const games = (film.games ?? 1) < 2 ? "" : element("select", {
    "aria-label": "Game", "data-key": "game", onchange: (event) => openGame(Number(event.target.value)),
  }, ...Array.from({ length: film.games }, (_, game) =>
    element("option", { value: game, selected: game === film.game }, `Game ${game + 1}`)));
  const back = film.back ? button("back", "Back to the table", "", () => {
    stopPlaying();
    const table = film.back;
    film = null;
    byId("actions").replaceChildren();
    render(table);
  }) : "";
  const file = own ? "" : element("a", { class: "button", "data-key": "file", download: "bombay-game.html",
    href: `api/page?game=${film.game ?? 0}`, title: "One file that shows this game without a network" }, "Save as a file");
  if (byId("tools").dataset.film === String(film.game)) return; // what has the focus stays
  byId("tools").dataset.film = film.game;
  byId("tools").replaceChildren(...[back, games, file].filter(Boolean));
}

// All events; a click goes to the position after one.
function renderEvents() {
  const list = byId("log");
  if (list.dataset.film !== "shown") {
    list.replaceChildren(...film.log.map((entry, event) => element("li", { class: entry.seat === null ? "set" : null },
      button(`event ${event}`, eventWords(entry), "", () => {
        stopPlaying();
        go(event);
      }, { class: "event" }))));
    list.dataset.film = "shown";
  }
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const item = list.children[state.event].firstElementChild;
  item.setAttribute("aria-current", "true");
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - list.clientHeight / 2;
}

// --- values: each seat's share of the win at every turn, and the turns that cost most ---

function renderValues() {
  if (!film.turns.length) {
    return show("viewer", element("p", {}, "No values: zero was not trained on these rules or this board."));
  }
  const turn = turnAt(state.event);
  const over = state.event === film.last && film.result;
  const shares = over ? film.result : turn.shares;
  const key = shares.map((share, seat) => element("li", {}, swatch(seat), `${who(state, seat)} ${percent(share)}`));
  const costly = film.turns.filter(({ seat, cost }) => cost >= WORTH_TELLING && (film.whose === "all" || seat === film.whose))
    .sort((one, other) => other.cost - one.cost).slice(0, MOST_COSTLY);
  const whose = element("select", { "aria-label": "Whose turns", "data-key": "whose", onchange: () => {
    film.whose = whose.value === "all" ? "all" : Number(whose.value);
    renderValues();
    byId("viewer").querySelector("select").focus();
  } }, element("option", { value: "all" }, "All players"), ...state.seats.map((has, seat) =>
    element("option", { value: seat, selected: seat === film.whose }, has.called)));
  const turns = costly.map((one) => element("li", {}, button(`turn ${one.first}`,
    `${who(state, one.seat)}, ${film.positions[one.first - 1].when}: this turn cost ${Math.round(100 * one.cost)} points`,
    `Better was: ${one.better.join(", then ")}`, () => {
      stopPlaying();
      go(one.first);
    })));
  const chart = byId("viewer").querySelector("#curve") ?? element("div", { id: "curve" });
  show("viewer",
    element("h3", {}, `Share of the win, as ${film.valued_by} values it`), chart, element("ul", { class: "key" }, ...key),
    element("h3", {}, "The turns that cost most"), whose, element("ol", {}, ...turns),
    element("p", {}, `In points of a hundred of the win, by the net of ${film.valued_by}, which does not look ahead.`));
  drawCurve();
}

function svgElement(tag, attributes, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

function strokes(tag, attributes, seat, parent) {
  const { colour, dash } = film.curves[seat];
  for (const [stroke, width] of [["#2c2a26", 4.6], [colour, 2.6]])
    svgElement(tag, { ...attributes, stroke, "stroke-width": width, "stroke-dasharray": dash, fill: "none" }, parent);
}

function swatch(seat) {
  const svg = svgElement("svg", { viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true", class: "swatch" }, element("span"));
  strokes("line", { x1: 0, x2: 34, y1: 6, y2: 6 }, seat, svg);
  return svg;
}

// The curve is drawn in pixels, so that its words keep their size.
function drawCurve() {
  const place = byId("curve");
  if (!place || !film) return;
  const width = Math.max(place.clientWidth, 200), height = 170;
  const [left, right, top, bottom] = [42, width - 8, 10, height - 10];
  const events = [...film.turns.map((turn) => turn.first - 1), ...(film.result ? [film.last] : [])];
  const rows = [...film.turns.map((turn) => turn.shares), ...(film.result ? [film.result] : [])];
  const across = (event) => left + (right - left) * (film.last ? event / film.last : 0);
  const down = (share) => bottom - (bottom - top) * share;
  const chart = svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": 12, "aria-hidden": "true" }, element("div"));
  svgElement("rect", { x: 0, y: 0, width, height, rx: 8, fill: "#ece1c6" }, chart);
  for (const share of [0, 0.5, 1]) {
    svgElement("line", { x1: left, x2: right, y1: down(share), y2: down(share), stroke: "#a98a58", "stroke-width": 0.7 }, chart);
    svgElement("text", { x: left - 5, y: down(share) + 4, fill: "#2c2a26", "text-anchor": "end" }, chart).textContent = percent(share);
  }
  for (const seat of rows[0].keys()) {
    const d = rows.map((row, number) => `${number ? "L" : "M"}${across(events[number]).toFixed(1)},${down(row[seat]).toFixed(1)}`).join("");
    strokes("path", { d, "stroke-linejoin": "round" }, seat, chart);
  }
  svgElement("line", { x1: across(state.event), x2: across(state.event), y1: top, y2: bottom, stroke: "#b3261e", "stroke-width": 2, class: "now" }, chart);
  chart.addEventListener("click", (event) => {
    const share = (event.clientX - chart.getBoundingClientRect().left - left) / (right - left);
    stopPlaying();
    go(Math.round(share * film.last));
  });
  place.replaceChildren(chart);
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

let width = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width === width) return;
  width = contentRect.width;
  if (state) render(state);
}).observe(byId("map"));

const own = byId("film"); // in a file of its own
if (own) openFilm(JSON.parse(own.textContent));
else keepLooking();
