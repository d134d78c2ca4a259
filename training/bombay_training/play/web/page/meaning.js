// What a site of the map means: for a pointer that rests on it, for a tap, and for the keyboard. It shows until the pointer has left
// both, or the focus, or until Escape, and it may be pointed at. Legal moves stay clickable: a click on one moves, as ever.

import { button, byId, element, marked, show } from "./dom.js";
import { onMap, siteOf, targetOf } from "./map.js";
import { change, store } from "./store.js";

const REST = 200; // milliseconds before a meaning shows
const LEAVE = 350; // and before it goes: time to reach it
const GAP = 6; // pixels between a site and its meaning
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
let explained = null; // the site whose meaning shows
let dismissed = null; // the site whose meaning was sent away; it comes back once the pointer has been elsewhere
let timer = null;

function explain(site) {
  clearTimeout(timer);
  explained = site;
  const [what, ...more] = store.state.meanings[site];
  show("meaning", element("strong", {}, `${site}: `, ...marked(what)), ...more.map((line) => element("span", {}, ...marked(line))));
  placeMeaning(targetOf(site).getBoundingClientRect());
}

function leave() {
  clearTimeout(timer);
  explained = null;
  show("meaning");
}

function dismiss() {
  dismissed = explained;
  leave();
}

const shared = (one, other) => Math.max(0, Math.min(one.right, other.right) - Math.max(one.left, other.left)) *
  Math.max(0, Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top));

// Beside the site, or in a corner or below the map: where it covers neither the site nor legal moves, and can be seen.
function placeMeaning(site) {
  const field = byId("field").getBoundingClientRect(), { width, height } = byId("meaning").getBoundingClientRect();
  const [x, y] = [(site.left + site.right - width) / 2, (site.top + site.bottom - height) / 2];
  const [left, right, top, bottom] = [field.left, field.right - width, field.top, field.bottom - height];
  const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const moves = [...byId("map").querySelectorAll(".target")].map((target) => target.getBoundingClientRect());
  const beside = [[site.right + GAP, y], [site.left - GAP - width, y], [x, site.bottom + GAP], [x, site.top - GAP - height]];
  const places = [...beside, [left, top], [right, top], [left, bottom], [right, bottom], [x, field.bottom + GAP]].map((place, rank) => {
    const at = { left: Math.min(Math.max(place[0], left), right), top: rank < 8 ? Math.min(Math.max(place[1], top), bottom) : place[1] };
    const box = { ...at, right: at.left + width, bottom: at.top + height };
    const hidden = shared(box, site) + moves.reduce((sum, move) => sum + shared(box, move), 0);
    return { ...at, cost: 1e4 * hidden + (width * height - shared(box, screen)) + 50 * rank };
  });
  const best = places.reduce((one, other) => (other.cost < one.cost ? other : one));
  Object.assign(byId("meaning").style, { left: `${best.left - field.left}px`, top: `${best.top - field.top}px` });
}

// --- pointer ---

byId("map").addEventListener("pointerover", (event) => {
  const site = siteOf(event.target) ?? event.target.closest("[data-at]")?.dataset.at;
  if (event.pointerType === "touch" || !store.state?.meanings || site === explained) return clearTimeout(timer);
  if (site !== dismissed) dismissed = null;
  clearTimeout(timer);
  if (!site) timer = setTimeout(leave, LEAVE);
  else if (site !== dismissed) timer = setTimeout(() => explain(site), REST);
});
for (const id of ["map", "meaning"])
  byId(id).addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return;
    clearTimeout(timer);
    timer = setTimeout(leave, LEAVE);
  });
byId("meaning").addEventListener("pointerenter", () => clearTimeout(timer));
byId("meaning").addEventListener("click", dismiss);

const isLegal = (site) => store.state.legal.some((choice) => choice.site === site);

onMap((site) => {
  if (!store.state?.meanings) return;
  if (site && !isLegal(site)) return explain(site);
  dismissed = site;
  leave();
});
document.addEventListener("pointerdown", (event) => {
  if (explained && !byId("field").contains(event.target)) dismiss();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && explained) dismiss();
});

// --- keyboard: one stop of Tab, from which the arrow keys go from site to site ---

function buttonOf(site) {
  const key = `site ${site}`;
  return button(key, "", "", () => (isLegal(site) ? change("act", { action: `move:${site}` }) : explain(site)), {
    "aria-label": site, "aria-describedby": "meaning", "data-place": site, onfocus: () => focusOn(site), onblur: leave,
    onkeydown: (event) => ARROWS[event.key] && step(site, ARROWS[event.key], event),
  });
}

function focusOn(site) {
  for (const place of byId("places").children) place.tabIndex = place.dataset.place === site ? 0 : -1;
  cover(byId("places").querySelector(":focus"));
  explain(site);
}

// Lay a button over its site.
function cover(place) {
  const field = byId("field").getBoundingClientRect(), site = targetOf(place.dataset.place).getBoundingClientRect();
  const at = { left: site.left - field.left, top: site.top - field.top, width: site.width, height: site.height };
  for (const [name, value] of Object.entries(at)) place.style[name] = `${value}px`;
}

function step(site, [right, down], event) {
  const middle = (name) => {
    const box = targetOf(name).getBoundingClientRect();
    return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  };
  const [x, y] = middle(site);
  let nearest = null;
  for (const other of Object.keys(store.state.meanings)) {
    const [u, v] = middle(other), ahead = (u - x) * right + (v - y) * down, aside = Math.abs((u - x) * down) + Math.abs((v - y) * right);
    if (ahead > GAP && !(nearest?.cost <= ahead + 2 * aside)) nearest = { other, cost: ahead + 2 * aside };
  }
  event.preventDefault();
  if (nearest) byId("places").querySelector(`[data-place="${CSS.escape(nearest.other)}"]`).focus();
}

export function renderMeanings(next) {
  const places = byId("places"), names = Object.keys(next.meanings ?? {});
  places.hidden = !names.length;
  const old = [...places.children].map((place) => place.dataset.place);
  if (old.join(" ") !== names.join(" ")) places.replaceChildren(...names.map(buttonOf)); // another board
  const focused = document.activeElement.dataset.place;
  if (names.length && !focused) {
    const here = next.seats[next.you ?? Math.max(next.mover, 0)].at;
    for (const place of places.children) place.tabIndex = place.dataset.place === here ? 0 : -1;
  }
  for (const place of places.children) cover(place);
  if (names.includes(explained)) explain(explained);
  else leave();
}
