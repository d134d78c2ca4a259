// The editor of a board: trails between sites, other places for sites, a photo to draw on, undo, saving.

import { button, byId, element, show, svgElement } from "./dom.js";
import { onMap, placeOf, siteOf } from "./map.js";
import { change, put, store } from "./store.js";

const LEAST_DRAG = 8; // pixels; what is shorter is a click
const drag = { site: null, from: null, under: false }; // `under` way: the pointer has gone far enough
const photo = { url: null, seen: 0.6 };

// --- the panel ---

export function renderEditor(next) {
  const press = (moving) => () => {
    store.editor.moving = moving;
    choose(null);
  };
  byId("actions").replaceChildren(
    button("draw", "Draw trails", "", press(false), { "aria-pressed": String(!store.editor.moving) }),
    button("move", "Move sites", "", press(true), { "aria-pressed": String(store.editor.moving) }));
  byId("tools").replaceChildren(
    button("undo", "Undo", "", () => change("undo"), { disabled: !next.can_undo }),
    button("save", next.saved ? "Saved" : "Save", next.when, () => change("save"), { class: "main", disabled: next.saved }));
  const help = store.editor.moving ? "Drag a site to its place, or click the site and then the place."
    : "Click sites one after the other, or drag from site to site. Escape ends a chain. To remove a trail, draw it again.";
  const trails = next.trails.map(([from, to]) =>
    element("li", {}, button(`${from} ${to}`, `${from} – ${to} ×`, "", () => change("trail", { from, to }),
      { "aria-label": `Remove the trail from ${from} to ${to}` })));
  if (byId("editor").hidden) byId("legend").open = true; // at first
  show("editor",
    element("p", {}, help),
    element("p", { class: next.problem ? null : "good", id: "problem" },
      next.problem ? `Not a valid board yet: ${next.problem}` : "This is a valid board. You can play and train on it."),
    next.problem ? null : element("p", { id: "command" },
      next.saved ? "Play on it: " : "Save it, then play on it: ", element("code", {}, next.command)),
    ...choices(next), ...photoTools,
    element("p", {}, `${next.trails.length} trails`), element("ul", { class: "trails" }, ...trails));
  drawPhoto();
}

// A trail by its ends, without a pointer.
function choices(next) {
  const names = Object.keys(next.sites);
  const ends = ["from", "to"].map((end) =>
    element("select", { id: `trail-${end}`, "data-key": `trail-${end}`, "aria-label": `Trail ${end}` },
      ...names.map((name) => element("option", { selected: name === store.editor[end] }, name))));
  return [...ends, button("both", "Draw or remove this trail", "", () => {
    [store.editor.from, store.editor.to] = ends.map((end) => end.value);
    change("trail", { from: store.editor.from, to: store.editor.to });
  })];
}

// --- a photo of one's own board, which never leaves the browser ---

const photoTools = [
  element("label", {}, "A photo of your board (it stays in this browser): ", element("input", {
    type: "file", accept: "image/*", "data-key": "photo", onchange: ({ target }) => {
      const reader = new FileReader();
      reader.addEventListener("load", () => {
        photo.url = reader.result;
        drawPhoto();
      });
      if (target.files.length) reader.readAsDataURL(target.files[0]);
    },
  })),
  element("label", {}, "Opacity of the photo: ", element("input", {
    type: "range", min: 0, max: 1, step: 0.05, value: photo.seen, "data-key": "seen", oninput: ({ target }) => {
      photo.seen = target.valueAsNumber;
      drawPhoto();
    },
  })),
];

// The photo lies on the ground, below trails and sites.
function drawPhoto() {
  const svg = byId("map").querySelector("svg"), ground = svg.querySelector("rect");
  svg.querySelector("image")?.remove();
  photoTools[1].hidden = !photo.url;
  if (!photo.url) return;
  const { width, height } = svg.viewBox.baseVal;
  ground.after(svgElement("image", { href: photo.url, width, height, opacity: photo.seen }, svg));
}

// --- clicks, chains of clicks, drags ---

function choose(site) {
  store.editor.chosen = site;
  put(store.state);
}

// Draw or remove a trail. A chain goes on where a trail was drawn.
async function join(from, to) {
  const before = store.state.trails.length;
  store.editor.chosen = null;
  await change("trail", { from, to });
  if (store.state.trails.length > before) choose(to);
}

function moveTo(site, event) {
  store.editor.chosen = null;
  const { x, y } = placeOf(event);
  change("move", { site, x, y });
}

onMap((site, event) => {
  if (store.state?.mode !== "board" || store.busy) return;
  if (drag.under) return; // the click that follows a drag
  const { chosen, moving } = store.editor;
  if (chosen && chosen === site && !moving) choose(null);
  else if (chosen && moving && (!site || site === chosen)) moveTo(chosen, event);
  else if (chosen && site && !moving) join(chosen, site);
  else choose(site ?? null);
});

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && store.state?.mode === "board" && store.editor.chosen) choose(null);
});

byId("map").addEventListener("pointerdown", (event) => {
  if (store.state?.mode !== "board" || event.button) return; // only the main button draws
  Object.assign(drag, { site: siteOf(event.target), from: event, under: false });
});

document.addEventListener("pointermove", (event) => {
  const far = drag.site && Math.hypot(event.clientX - drag.from.clientX, event.clientY - drag.from.clientY) > LEAST_DRAG;
  if (!drag.under && !far) return;
  drag.under = true;
  if (drag.site) drawDrag(placeOf(event));
});

document.addEventListener("pointerup", (event) => {
  const { site, under } = drag;
  drag.site = null;
  if (!site || !under) return;
  const end = siteOf(document.elementFromPoint(event.clientX, event.clientY));
  if (store.editor.moving) moveTo(site, event);
  else if (end && end !== site) join(site, end).then(() => choose(null));
  else choose(null);
});

document.addEventListener("pointercancel", () => {
  if (drag.site) choose(null);
  drag.site = null;
});

// The trail or the site that is dragged, on its way.
function drawDrag({ x, y }) {
  const svg = byId("map").querySelector("svg"), site = svg.querySelector(`[data-site="${CSS.escape(drag.site)}"]`);
  svg.querySelector(".dragged")?.remove();
  if (store.editor.moving) return site.setAttribute("transform", `translate(${x} ${y})`);
  const { e, f } = site.transform.baseVal.consolidate().matrix;
  svgElement("line", { class: "dragged", x1: e, y1: f, x2: x, y2: y }, svg);
}

addEventListener("beforeunload", (event) => {
  if (store.state?.mode === "board" && !store.state.saved) event.preventDefault();
});
