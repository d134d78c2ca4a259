// Moves on the map: their ways along the trails, and elephants that go along them.

import { byId } from "./dom.js";

export const CALM = matchMedia("(prefers-reduced-motion: reduce)");
export const PACES = { slow: 900, normal: 450, fast: 200 }; // milliseconds a move
export const motion = { number: 0, pace: "normal", paused: false }; // an animation ends when the next one gets its number

export const trailOf = (svg, [from, to]) =>
  [`${from} ${to}`, `${to} ${from}`].map((ends) => svg.querySelector(`[data-trail="${CSS.escape(ends)}"]`)).find(Boolean);

// The ways of a round along their trails, in the colours of the seats; where seats share a trail, their dashes alternate.
export function drawWays(moves) {
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
export async function animate(moves) {
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
export function animateNew(next, before) {
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
