// The editor of a board: trails between sites, other places for sites, undo, saving.

import { button, byId, element, show } from "./dom.js";
import { onMap } from "./map.js";
import { change, put, store } from "./store.js";

export function renderEditor(next) {
  const press = (moving) => () => {
    Object.assign(store.editor, { moving, chosen: null });
    put(store.state);
  };
  byId("actions").replaceChildren(
    button("draw", "Draw trails", "", press(false), { "aria-pressed": String(!store.editor.moving) }),
    button("move", "Move sites", "", press(true), { "aria-pressed": String(store.editor.moving) }));
  byId("tools").replaceChildren(
    button("undo", "Undo", "", () => change("undo"), { disabled: !next.can_undo }),
    button("save", next.saved ? "Saved" : "Save", next.when, () => change("save"), { class: "main", disabled: next.saved }));
  const help = store.editor.moving ? "Click a site, then where it belongs."
    : "Click two sites to draw the trail between them, or to remove it.";
  const names = Object.keys(next.sites);
  const ends = ["from", "to"].map((end) =>
    element("select", { id: `trail-${end}`, "data-key": `trail-${end}`, "aria-label": `Trail ${end}` },
      ...names.map((name) => element("option", { selected: name === store.editor[end] }, name))));
  const both = () => {
    [store.editor.from, store.editor.to] = ends.map((end) => end.value);
    change("trail", { from: store.editor.from, to: store.editor.to });
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

onMap((site, event) => {
  if (store.state?.mode !== "board") return;
  if (store.editor.moving && store.editor.chosen && !(site && site !== store.editor.chosen)) {
    const svg = byId("map").querySelector("svg");
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const moved = store.editor.chosen;
    store.editor.chosen = null;
    change("move", { site: moved, x: place.x, y: place.y });
  } else if (site && !store.editor.moving && store.editor.chosen && store.editor.chosen !== site) {
    const from = store.editor.chosen;
    store.editor.chosen = null;
    change("trail", { from, to: site });
  } else {
    store.editor.chosen = site === store.editor.chosen ? null : site ?? null;
    put(store.state);
  }
});
