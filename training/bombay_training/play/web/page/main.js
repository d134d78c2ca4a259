// The page of `bombay play`, `bombay watch` and `bombay board draw`: it asks the server how things stand, and draws the answers.

import { report } from "./client.js";
import { byId, show } from "./dom.js";
import { renderEditor } from "./editor.js";
import { openFilm } from "./film.js";
import { drawBoard } from "./map.js";
import { renderMeanings } from "./meaning.js";
import { animateNew } from "./motion.js";
import { renderAccount, renderLegend, renderMarkets, renderSeats, renderWords } from "./panels.js";
import { renderPlay } from "./play.js";
import { follow, look, onPut, put, store, who } from "./store.js";
import { renderTutorial } from "./tutorial.js";
import { own, renderWatch } from "./viewer.js";

let wantsFocus = false; // the keyboard's place was lost to a change: give it to the first action once there is one

async function start() {
  try {
    const first = await look();
    if (first.mode === "watch") openFilm(first);
    if (first.mode === "play") follow();
  } catch (error) {
    report(error.message);
  }
}

function render(next, before) {
  const focused = document.activeElement;
  const key = focused?.closest("[data-key]")?.dataset.key ?? null;
  byId("when").textContent = next.when ?? "";
  byId("headline").textContent = headline(next);
  document.title = title(next);
  document.body.dataset.mode = next.mode;
  const sites = sitesOf(next);
  drawBoard(next.svg, sites, Object.keys(next.meanings ?? {}).filter((site) => !sites.includes(site)), store.editor.chosen);
  byId("open-rules").hidden = next.mode !== "play";
  byId("game").hidden = !next.seats;
  if (next.seats) renderSeats(next);
  if (next.board) renderWords(next.board);
  if (next.markets) renderMarkets(next.markets);
  if (next.legend) renderLegend(next.legend);
  if (next.mode === "play") renderPlay(next, before);
  if (next.mode === "watch") renderWatch(next);
  else show("viewer");
  if (next.mode === "board") renderEditor(next);
  renderAccount(next.account);
  renderTutorial(next, before);
  renderMeanings(next);
  if (next.mode === "play" && before?.mode === "play") animateNew(next, before);
  restoreFocus(key);
}

// What can be clicked on the map: the sites of legal moves, or in the editor all sites.
const sitesOf = (next) => next.mode === "board" ? Object.keys(next.sites)
  : (next.legal ?? []).map((choice) => choice.site).filter(Boolean);

function restoreFocus(key) {
  if (key !== null) wantsFocus = true;
  if (!wantsFocus) return;
  const same = key === null ? null : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const first = byId("actions").querySelector("button:not(:disabled)") ?? byId("handover").querySelector("button");
  const place = same && !same.disabled ? same : first;
  if (place) wantsFocus = false;
  (place ?? byId("headline")).focus({ preventScroll: true });
}

function headline(next) {
  if (next.mode !== "play" || next.over) return next.headline;
  if (next.fault) return `${who(next.fault.seat)} cannot act`;
  if (next.handing_over !== null) return `${who(next.handing_over)} is next`;
  if (!next.human) return `${who(next.mover)} is thinking …`;
  return next.turn_done ? `${who(next.mover)}: the turn is done` : next.headline;
}

function title(next) {
  if (next.mode !== "play" || next.over) return `${next.headline} – Bombay`;
  return next.human && next.mover === next.you ? "Your turn – Bombay" : `${headline(next)} – Bombay`;
}

onPut(render);
let width = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width === width) return;
  width = contentRect.width;
  if (store.state) put(store.state);
}).observe(byId("map"));

if (own) openFilm(JSON.parse(own.textContent));
else start();
globalThis.store = store; // for the console of the browser
