// The viewer of a recorded game: its controls, its events, and the turns that cost most.

import { drawCurve, percent, swatch } from "./curve.js";
import { button, byId, element, show } from "./dom.js";
import { go, openGame, stopPlaying } from "./film.js";
import { catchUp, change, put, store, who } from "./store.js";

export const own = byId("film"); // in a file of its own

const EVENT_PAUSE = 700; // milliseconds between two events that are played
const MOST_COSTLY = 5; // turns that are listed
const WORTH_TELLING = 0.01; // of the win

function playOrPause() {
  if (store.film.timer) stopPlaying();
  else {
    if (store.state.event === store.film.last) go(0);
    store.film.timer = setInterval(() => {
      if (store.state.event + 1 >= store.film.last) stopPlaying();
      go(store.state.event + 1, true);
    }, EVENT_PAUSE);
  }
  renderControls();
}

document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!store.film || !by || event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  stopPlaying();
  go(store.state.event + by, by > 0);
});

// The turn that an event belongs to; null without values.
function turnAt(event) {
  return store.film.turns.findLast((turn) => turn.first <= event) ?? store.film.turns[0] ?? null;
}

export function renderWatch(next) {
  const words = store.film.log[next.event];
  byId("headline").textContent = next.event === store.film.last ? next.headline : eventWords(words);
  const fault = next.event === store.film.last ? store.film.fault : null;
  if (fault) show("fault", element("p", {}, `${who(fault.seat)} lost the game by a fault. ${fault.reason}`));
  else show("fault");
  store.state.account = next.event === store.film.last ? store.film.account : null;
  for (const id of ["round", "hint", "handover"]) show(id);
  renderControls();
  renderEvents();
  renderValues();
}

const eventWords = ({ seat, words }) => (seat === null ? words : `${who(seat)}: ${words}`);

function renderControls() {
  const step = (by) => () => {
    stopPlaying();
    go(store.state.event + by, by > 0);
  };
  const slider = byId("actions").querySelector("input[data-key=slider]") ?? element("input", {
    type: "range", min: 0, "data-key": "slider", "aria-label": "Event",
    oninput: (event) => {
      stopPlaying();
      go(event.target.valueAsNumber);
    },
  });
  slider.max = store.film.last;
  slider.value = store.state.event;
  slider.setAttribute("aria-valuetext", byId("headline").textContent);
  const count = element("span", { id: "count" }, `${store.state.event} of ${store.film.last}`);
  const buttons = [button("earlier", "Back", "", step(-1)), button("play", store.film.timer ? "Pause" : "Play", "", playOrPause),
    button("later", "Forward", "", step(1))];
  if (slider.isConnected) { // the slider that is being dragged stays
    for (const made of buttons) {
      const old = byId("actions").querySelector(`[data-key=${made.dataset.key}]`);
      if (old.textContent !== made.textContent) old.textContent = made.textContent;
    }
    byId("count").textContent = count.textContent;
  } else byId("actions").replaceChildren(...buttons, slider, count);
  const games = (store.film.games ?? 1) < 2 ? "" : element("select", {
    "aria-label": "Game", "data-key": "game", onchange: (event) => openGame(Number(event.target.value)),
  }, ...Array.from({ length: store.film.games }, (_, game) =>
    element("option", { value: game, selected: game === store.film.game }, `Game ${game + 1}`)));
  const back = store.film.back ? button("back", "Back to the table", "", backToTable) : "";
  const on = store.film.back ? button("on", "Play on from here", "", () => {
    const { event } = store.state;
    backToTable();
    change("continue", { event });
  }, { title: "A new game from the start of this turn, with the same seats" }) : "";
  const file = own ? "" : element("a", { class: "button", "data-key": "file", download: "bombay-game.html",
    href: `api/page?game=${store.film.game ?? 0}`, title: "One file that shows this game without a network" }, "Save as a file");
  if (byId("tools").dataset.film === String(store.film.game)) return; // what has the focus stays
  byId("tools").dataset.film = store.film.game;
  byId("tools").replaceChildren(...[back, on, games, file].filter(Boolean));
}

function backToTable() {
  stopPlaying();
  const table = store.film.back;
  store.film = null;
  byId("actions").replaceChildren();
  put(table);
  catchUp();
}

// All events; a click goes to the position after one.
function renderEvents() {
  const list = byId("log");
  if (list.dataset.film !== "shown") {
    list.replaceChildren(...store.film.log.map((entry, event) => element("li", { class: entry.seat === null ? "set" : null },
      button(`event ${event}`, eventWords(entry), "", () => {
        stopPlaying();
        go(event);
      }, { class: "event" }))));
    list.dataset.film = "shown";
  }
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const item = list.children[store.state.event].firstElementChild;
  item.setAttribute("aria-current", "true");
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - list.clientHeight / 2;
}

function renderValues() {
  if (!store.film.turns.length) {
    return show("viewer", element("p", {}, "No values: zero was not trained on these rules or this board."));
  }
  const turn = turnAt(store.state.event);
  const over = store.state.event === store.film.last && store.film.result;
  const shares = over ? store.film.result : turn.shares;
  const key = shares.map((share, seat) => element("li", {}, swatch(seat), `${who(seat)} ${percent(share)}`));
  const costly = store.film.turns
    .filter(({ seat, cost }) => cost >= WORTH_TELLING && ["all", seat].includes(store.film.whose))
    .sort((one, other) => other.cost - one.cost).slice(0, MOST_COSTLY);
  const whose = element("select", { "aria-label": "Whose turns", "data-key": "whose", onchange: () => {
    store.film.whose = whose.value === "all" ? "all" : Number(whose.value);
    renderValues();
    byId("viewer").querySelector("select").focus();
  } }, element("option", { value: "all" }, "All players"), ...store.state.seats.map((has, seat) =>
    element("option", { value: seat, selected: seat === store.film.whose }, has.called)));
  const turns = costly.map((one) => element("li", {}, button(`turn ${one.first}`,
    `${who(one.seat)}, ${store.film.positions[one.first - 1].when}: this turn cost ${Math.round(100 * one.cost)} points`,
    `Better: ${one.better.join(", then ")}`, () => {
      stopPlaying();
      go(one.first);
    })));
  const chart = byId("viewer").querySelector("#curve") ?? element("div", { id: "curve" });
  show("viewer",
    element("h3", {}, `Chance to win, as ${store.film.valued_by} estimates it`), chart, element("ul", { class: "key" }, ...key),
    element("h3", {}, "The turns that cost most"),
    element("p", {}, `A point is one per cent of the chance to win. ${store.film.valued_by} estimates it without looking ahead.`),
    whose, element("ol", {}, ...turns));
  drawCurve();
}
