// The board's picture: it is drawn with places to click, which are large enough for a finger.

import { byId, svgElement } from "./dom.js";

const MIN_TARGET = 24; // pixels
const MIN_TEXT = 11; // likewise
const MIN_BAR = 36; // in units of the drawing, the width from which a rectangle before words is the bar of a city's name

// `sites` can be clicked: those of legal moves, or in the editor all. `others` have a meaning that is shown.
export function drawBoard(text, sites, others, chosen = null) {
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const svg = document.importNode(drawn, true);
  svg.setAttribute("aria-hidden", "true"); // the element around it has the name
  svg.classList.toggle("marked", svg.querySelector("[data-move]") !== null); // the drawing shows the legal moves itself
  byId("map").replaceChildren(svg);
  enlargeWords(svg);
  addTargets(svg, others, "place");
  addTargets(svg, sites, "target", chosen);
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
    const bar = words.previousElementSibling, width = bar?.localName === "rect" ? Number(bar.getAttribute("width")) : 0;
    if (width > MIN_BAR && words.getComputedTextLength() > width - 6) widen(bar, words);
  }
}

// A city's name gets a wider bar, within the drawing.
function widen(bar, words) {
  const width = words.getComputedTextLength() + 8, view = bar.ownerSVGElement.viewBox.baseVal;
  const middle = Number(bar.getAttribute("x")) + bar.getAttribute("width") / 2;
  const x = Math.min(Math.max(middle - width / 2, view.x), view.x + view.width - width);
  for (const [name, value] of Object.entries({ x, width })) bar.setAttribute(name, value);
  words.setAttribute("x", x + width / 2);
}

function addTargets(svg, sites, kind, chosen = null) {
  for (const site of sites) {
    const places = svg.querySelectorAll(`[data-site="${CSS.escape(site)}"]`);
    if (!places.length) continue;
    const [left, top, wide, high] = covered(places);
    const least = (MIN_TARGET + 1) / scaleOf(svg);
    const [width, height] = [Math.max(wide + 10, least), Math.max(high + 10, least)];
    const target = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const at = { x: left + (wide - width) / 2, y: top + (high - height) / 2, width, height, rx: 14 };
    for (const [name, value] of Object.entries(at)) target.setAttribute(name, value);
    target.setAttribute("class", site === chosen ? `${kind} chosen` : kind);
    target.dataset.target = site;
    svg.append(target);
  }
}

// A ring around parts of the drawing, in place of the last one.
export function ring(elements) {
  const svg = byId("map").querySelector("svg");
  svg.querySelector(".ring")?.remove();
  if (!elements.length) return;
  const [x, y, width, height] = covered(elements);
  svgElement("rect", { class: "ring", x: x - 9, y: y - 9, width: width + 18, height: height + 18, rx: 16 }, svg);
}

export const targetOf = (site) => byId("map").querySelector(`[data-target="${CSS.escape(site)}"]`);

// The site that a part of the drawing belongs to; undefined for none.
export const siteOf = (part) =>
  part?.closest("[data-target]")?.dataset.target ?? part?.closest("[data-site]")?.dataset.site;

// `act(site, event)` is called with each click on the map; the site may be undefined.
export const onMap = (act) => byId("map").addEventListener("click", (event) => act(siteOf(event.target), event));

// Where the pointer is in the drawing.
export function placeOf({ clientX, clientY }) {
  const svg = byId("map").querySelector("svg");
  return new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
}

export function aim(site, on) {
  if (site) targetOf(site)?.classList.toggle("aimed", on);
}
