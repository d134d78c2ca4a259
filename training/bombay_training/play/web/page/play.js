// A game that is played: its actions, what the others did, hints, the log.

import { report, send } from "./client.js";
import { button, byId, element, show } from "./dom.js";
import { watchOwn } from "./film.js";
import { openLobby } from "./lobby.js";
import { aim, onMap } from "./map.js";
import { CALM, PACES, animate, drawWays, motion, trailOf } from "./motion.js";
import { change, store, who } from "./store.js";

const MAX_NEWS = 12; // events that are announced at once
let told = 0; // entries of the log that have been announced

onMap((site) => {
  if (site && (store.state?.legal ?? []).some((choice) => choice.site === site)) change("act", { action: `move:${site}` });
});

// The second click of a double click would meet whatever the first one has brought under the pointer.
document.addEventListener("click", (event) => {
  if (event.detail > 1 && store.state?.mode === "play") event.stopPropagation();
}, true);

export function renderPlay(next, before) {
  renderLog(next.log, before);
  const choices = next.legal.map(({ action, site, words, effect }) =>
    button(action, words, effect, () => change("act", { action }), {
      class: next.turn_done ? "main" : null,
      onmouseenter: () => aim(site, true),
      onmouseleave: () => aim(site, false),
      onfocus: (event) => aim(site, event.target.matches(":focus-visible")), // not after a click
      onblur: () => aim(site, false),
    }));
  byId("actions").replaceChildren(...choices);
  const handover = next.handing_over === null ? [] : [
    element("p", {}, `Only seat ${next.handing_over} should look at the screen now.`),
    button("ready", `Show what seat ${next.handing_over} sees`, "", () => change("ready"), { class: "main" }),
  ];
  show("handover", ...handover);
  renderFault(next.fault, next.substitutes);
  renderTools(next);
  renderHint(next);
  renderRound(next);
}

// A card for each turn that others have taken since one's own.
function renderRound(next) {
  const cards = next.round.map(({ seat, words }) => element("li", { class: seat === null ? "set" : null },
    seat === null ? "" : element("strong", {}, `${who(seat)}: `), words));
  const moves = next.round.flatMap(({ seat, way }) => way.slice(1).map((to, place) => ({ seat, move: [way[place], to] })));
  drawWays(moves);
  const paces = element("select", { "aria-label": "Speed", "data-key": "pace", onchange: () => (motion.pace = paces.value) },
    ...Object.keys(PACES).map((name) => element("option", { selected: name === motion.pace }, name)));
  const controls = CALM.matches || !moves.length ? "" : element("div", { class: "controls" },
    button("again", "Show again", "", () => animate(moves)),
    button("pause", motion.paused ? "Go on" : "Pause", "", () => {
      motion.paused = !motion.paused;
      renderRound(next);
      byId("round").querySelector("[data-key=pause]").focus();
    }), paces);
  show("round", ...(cards.length ? [element("ul", {}, ...cards), controls] : []));
}

// What would look the same stays as it is: a click is lost when its button is replaced between the press and the release.
function renderTools(next) {
  const tools = byId("tools");
  const look = JSON.stringify([next.can_undo, !next.adviser, next.stopped, next.over, next.has_record]);
  if (tools.dataset.play === look && !tools.dataset.film) return;
  delete tools.dataset.film;
  tools.dataset.play = look;
  tools.replaceChildren(
    button("undo", "Take the turn back", "", () => change("undo"), { disabled: !next.can_undo }),
    button("hint", "Hint", "", askHint, { disabled: !next.adviser }),
    next.stopped === null ? "" : button("stop", next.stopped ? "Go on" : "Stop", "", () => change("stop")),
    button("new", "New game", "", openLobby, { "aria-haspopup": "dialog" }),
    next.over ? button("watch", "Look at the game again", "", watchOwn) : "",
    next.has_record
      ? element("a", { class: "button", "data-key": "record", href: "api/record", download: "bombay-record.jsonl",
        title: next.over ? "Download the record" : "Download the record so far" }, "Record")
      : "",
  );
}

// The name of an agent without its options.
const nameOf = (agent) => agent.split(":")[0];

// The turn in which a hint was given; while it lasts, the hint stays.
const turnOf = (next) => `${next.game} ${next.when} ${next.mover}`;

async function askHint() {
  const { version, adviser, played } = store.state;
  show("hint", element("p", {}, `${nameOf(adviser)} is thinking …`));
  try {
    const found = await send("hint", { version });
    if (store.state.version !== version) return;
    store.advice = { turn: turnOf(store.state), played, ...found };
    renderHint(store.state);
  } catch (error) {
    show("hint");
    report(error.message);
  }
}

// Of a turn that was advised, the actions that are left to play; null once another action was taken.
function left(hint, next) {
  const whole = [...store.advice.played, ...hint.actions];
  return next.played.every((action, place) => action === whole[place]) ? whole.slice(next.played.length) : null;
}

function renderHint(next) {
  if (store.advice?.turn !== turnOf(next) || !next.human || next.over) store.advice = null;
  for (const trail of byId("map").querySelectorAll(".advised")) trail.remove();
  if (!store.advice) return show("hint");
  const turns = store.advice.turns.map((hint, place) => {
    const rest = left(hint, next)?.filter((action) => action !== "end_turn");
    const able = Boolean(rest?.length);
    const play = button(`hint ${place}`, "Play this turn", "", () => playTurn(rest),
      { disabled: !able, onmouseenter: () => able && mark(next, rest), onfocus: () => able && mark(next, rest) });
    return element("li", {}, element("strong", {}, hint.turn.join(", then ")), element("br"),
      `Expected to win ${(100 * hint.win_share).toFixed(0)} % of the time `,
      `(${hint.visits} simulation${hint.visits === 1 ? "" : "s"}). ${hint.why}`,
      hint.line.length ? element("small", {}, `Then it expects ${hint.line.join("; ")}.`) : "", play);
  });
  show("hint", element("strong", {}, `The best turns, as ${nameOf(store.advice.by)} sees them:`), element("ol", {}, ...turns));
  const best = store.advice.turns.map((hint) => left(hint, next)).find(Boolean);
  if (best) mark(next, best);
}

// The way of an advised turn on the map: its trails, and a frame around the site where it ends.
function mark(next, actions) {
  const svg = byId("map").querySelector("svg");
  for (const trail of svg.querySelectorAll(".advised")) trail.remove();
  let at = next.seats[next.mover].at;
  for (const action of actions.filter((name) => name.startsWith("move:"))) {
    const to = action.slice("move:".length);
    const trail = trailOf(svg, [at, to]);
    if (trail) {
      const copy = trail.cloneNode();
      copy.removeAttribute("data-trail");
      copy.setAttribute("class", "advised");
      trail.after(copy);
    }
    at = to;
  }
}

async function playTurn(actions) {
  for (const action of actions) {
    const before = store.state.version;
    await change("act", { action });
    if (store.state.version !== before + 1) return; // refused, or the game went on elsewhere
  }
}

function renderFault(fault, substitutes) {
  if (!fault) return show("fault");
  const choice = element("select", { id: "substitute", "data-key": "substitute" },
    ...substitutes.map((name) => element("option", {}, name)));
  show("fault",
    element("p", {}, `The agent in seat ${fault.seat} failed. The game has not changed. ${fault.reason}`),
    button("retry", "Ask it again", "", () => change("retry")), " ",
    element("label", { for: "substitute" }, "or give the seat to: "), choice, " ",
    button("replace", "Replace", "", () => change("replace", { agent: choice.value })));
}

function renderLog(log, before) {
  const list = byId("log");
  const entries = log.map(({ seat, words }) =>
    element("li", { class: seat === null ? "set" : null }, seat === null ? words : `${who(seat)}: ${words}`));
  list.replaceChildren(...entries);
  list.scrollTop = list.scrollHeight;
  if (before && log.length > told) {
    const news = entries.slice(Math.max(told, log.length - MAX_NEWS)).map((entry) => entry.textContent);
    byId("news").textContent = news.join(" · ");
  } else if (log.length < told) byId("news").textContent = store.undone ? "The turn was taken back." : `New game. ${store.state.lobby.words}`;
  told = log.length;
}
