// A recorded game: its positions, and the way from one to another.

import { ask, report } from "./client.js";
import { byId } from "./dom.js";
import { animate, motion } from "./motion.js";
import { put, store } from "./store.js";

const POOLED = ["seats", "tables", "markets", "legend"];

// A position of a film; parts that several positions share stand in its pool.
function positionOf(event) {
  const one = { ...store.film.positions[event] };
  for (const name of POOLED) one[name] = one[name].map((number) => store.film.pool[number]);
  const svg = one.svg.map((number) => store.film.pool[number]).join("\n");
  return { ...one, svg, mode: "watch", board: { turn: one.turn, tables: one.tables }, event };
}

export function openFilm(found) {
  stopPlaying();
  store.film = { timer: null, whose: found.you ?? "all", last: found.positions.length - 1, ...found };
  byId("log").dataset.film = "";
  go(0);
}

export async function watchOwn() {
  byId("headline").textContent = "The turns are being valued …";
  try {
    openFilm({ ...await ask("film"), back: store.state });
  } catch (error) {
    put(store.state);
    report(error.message);
  }
}

export async function openGame(game) {
  try {
    openFilm(await ask(`state?game=${game}`));
    report(null);
  } catch (error) {
    report(error.message);
  }
}

export function go(event, animated = false) {
  event = Math.max(0, Math.min(store.film.last, event));
  put(positionOf(event));
  const { seat, move } = store.film.log[event];
  motion.number += 1;
  if (animated && move) animate([{ seat, move }]);
}

export function stopPlaying() {
  clearInterval(store.film?.timer);
  if (store.film) store.film.timer = null;
}
