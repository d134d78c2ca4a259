// The tutorial of a first game: five steps, each of which points at one thing of the running game. A step ends when the player has
// done what it tells, or by a button. A cookie remembers that it is over: unlike other storage, it outlives the server's port.

import { button, byId, element, marked, show } from "./dom.js";
import { ring } from "./map.js";
import { keepLessons, openRules } from "./rules.js";
import { store } from "./store.js";

const OVER = "bombay-tutorial=over";
let stage = document.cookie.includes(OVER) ? null : 0; // the number of the step; null when the tutorial does not run

byId("open-rules").addEventListener("click", () => openRules(() => {
  stage = 0;
  renderTutorial(store.state, store.state);
  byId("tutorial").querySelector("button")?.focus(); // none while no human plays: it then runs in the next game
}));

function finish() {
  document.cookie = `${OVER}; path=/; max-age=31536000; samesite=strict`;
  stage = null;
  renderTutorial(store.state, store.state);
  (byId("actions").querySelector("button") ?? byId("headline")).focus();
}

// What a step points at: in words, and as parts of the map or of the page.
function aimOf(next, at) {
  const seat = next.you ?? next.mover, site = next.goals[at];
  if (at === "elephant") return { words: `your elephant, at ${next.seats[seat].at}`, parts: `[data-elephant="${seat}"]` };
  if (at === "clock") return { words: next.when, parts: null };
  return site ? { words: site, parts: `[data-site="${CSS.escape(site)}"]` } : { words: "no site now", parts: null };
}

const written = ({ title, words }, number, count) =>
  [element("h2", {}, `${number + 1} of ${count}: ${title}`), element("p", {}, ...marked(words))];

function draw(steps) {
  const next = button("next", "Next", "", () => {
    stage += 1;
    if (stage === steps.length) finish();
    else renderTutorial(store.state, store.state);
  }, { class: "main" });
  // All steps lie behind the one that shows, so that the place is as high as the longest.
  const unseen = steps.map((one, number) => element("div", { class: "unseen", "aria-hidden": "true" },
    ...written(one, number, steps.length), element("p", { class: "where" }, "\u00a0")));
  show("tutorial", element("div", { class: "steps" }, ...unseen, element("div", { "aria-live": "polite", class: "step" })),
    element("div", { class: "controls" }, next, button("skip", "Skip the tutorial", "", finish)));
}

function didIt(next, before, kind) {
  const grew = next.human && next.played.length > (before?.played?.length ?? 0);
  return Boolean(kind) && grew && next.played.at(-1).startsWith(kind);
}

export function renderTutorial(next, before) {
  const { steps } = keepLessons(next.lessons) ?? {};
  const runs = stage !== null && next.mode === "play" && !next.over && (next.you !== null || next.human);
  byId("when").classList.toggle("pointed", Boolean(runs && steps[stage].at === "clock"));
  if (!runs) {
    if (next.svg) ring([]);
    return show("tutorial");
  }
  if (didIt(next, before, steps[stage].done)) stage += 1;
  if (byId("tutorial").hidden) draw(steps);
  const { words, parts } = aimOf(next, steps[stage].at);
  byId("when").classList.toggle("pointed", steps[stage].at === "clock");
  ring(parts ? byId("map").querySelectorAll(parts) : []);
  const where = element("p", { class: "where" }, `Marked with a ring: ${words}`);
  const shownStep = byId("tutorial").querySelector(".step");
  if (shownStep.dataset.stage !== String(stage)) {
    shownStep.dataset.stage = stage;
    shownStep.replaceChildren(...written(steps[stage], stage, steps.length), where);
  } else shownStep.querySelector(".where").replaceWith(where);
  const isLast = stage === steps.length - 1;
  byId("tutorial").querySelector("[data-key=next]").textContent = isLast ? "Done" : "Next";
  byId("tutorial").querySelector("[data-key=skip]").hidden = isLast;
}
