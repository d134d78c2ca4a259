// The board's picture: it is drawn with places to click, which are large enough for a finger.

import { byId } from "./dom.js";

const MIN_TARGET = 24; // pixels
const MIN_TEXT = 11; // likewise

// `sites` can be clicked: those of legal moves, or in the editor all.
export function drawBoard(text, sites, chosen = null) {
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const svg = document.importNode(drawn, true);
  svg.setAttribute("aria-hidden", "true"); // the element around it has the name
  svg.classList.toggle("marked", svg.querySelector("[data-move]") !== null); // the drawing shows the legal moves itself
  byId("map").replaceChildren(svg);
  enlargeWords(svg);
  addTargets(svg, sites, chosen);
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

function addTargets(svg, sites, chosen) {
  for (const site of sites) {
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

// `act(site, event)` is called with each click on the map; the site may be undefined.
export const onMap = (act) => byId("map").addEventListener("click", (event) =>
  act(event.target.closest("[data-target]")?.dataset.target ?? event.target.closest("[data-site]")?.dataset.site, event));

export function aim(site, on) {
  if (site) byId("map").querySelector(`[data-target="${CSS.escape(site)}"]`)?.classList.toggle("aimed", on);
}
