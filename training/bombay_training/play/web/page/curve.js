// Each seat's share of the win over a recorded game.

import { byId, element, svgElement } from "./dom.js";
import { go, stopPlaying } from "./film.js";
import { store } from "./store.js";

export const percent = (share) => `${Math.round(100 * share)} %`;

function strokes(tag, attributes, seat, parent) {
  const { colour, dash } = store.film.curves[seat];
  for (const [stroke, width] of [["#2c2a26", 4.6], [colour, 2.6]])
    svgElement(tag, { ...attributes, stroke, "stroke-width": width, "stroke-dasharray": dash, fill: "none" }, parent);
}

export function swatch(seat) {
  const size = { viewBox: "0 0 34 12", width: 34, height: 12 };
  const svg = svgElement("svg", { ...size, "aria-hidden": "true", class: "swatch" }, element("span"));
  strokes("line", { x1: 0, x2: 34, y1: 6, y2: 6 }, seat, svg);
  return svg;
}

// The curve is drawn in pixels, so that its words keep their size.
export function drawCurve() {
  const place = byId("curve");
  if (!place || !store.film) return;
  const width = Math.max(place.clientWidth, 200), height = 170;
  const [left, right, top, bottom] = [42, width - 8, 10, height - 10];
  const events = [...store.film.turns.map((turn) => turn.first - 1), ...(store.film.result ? [store.film.last] : [])];
  const rows = [...store.film.turns.map((turn) => turn.shares), ...(store.film.result ? [store.film.result] : [])];
  const across = (event) => left + (right - left) * (store.film.last ? event / store.film.last : 0);
  const down = (share) => bottom - (bottom - top) * share;
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const chart = svgElement("svg", { ...size, "font-size": 12, "aria-hidden": "true" }, element("div"));
  svgElement("rect", { x: 0, y: 0, width, height, rx: 8, fill: "#ece1c6" }, chart);
  for (const share of [0, 0.5, 1]) {
    svgElement("line", { x1: left, x2: right, y1: down(share), y2: down(share), stroke: "#a98a58", "stroke-width": 0.7 }, chart);
    const at = { x: left - 5, y: down(share) + 4, fill: "#2c2a26", "text-anchor": "end" };
    svgElement("text", at, chart).textContent = percent(share);
  }
  for (const seat of rows[0].keys()) {
    const points = rows.map((row, number) => `${across(events[number]).toFixed(1)},${down(row[seat]).toFixed(1)}`);
    const d = `M${points.join("L")}`;
    strokes("path", { d, "stroke-linejoin": "round" }, seat, chart);
  }
  const now = across(store.state.event);
  svgElement("line", { x1: now, x2: now, y1: top, y2: bottom, stroke: "#b3261e", "stroke-width": 2, class: "now" }, chart);
  chart.addEventListener("click", (event) => {
    const share = (event.clientX - chart.getBoundingClientRect().left - left) / (right - left);
    stopPlaying();
    go(Math.round(share * store.film.last));
  });
  place.replaceChildren(chart);
}
