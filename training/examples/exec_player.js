// A player in JavaScript: it sells where it can, then buys, then builds, else it prefers what does not lead to a rival's palace.
// See docs/external.md. Play it with: bombay arena "exec:command=node exec_player.js" planner-v1
const lines = require("node:readline").createInterface({ input: process.stdin });

function say(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

function choose({ seat, legal, state, random }) {
  const names = legal.map((entry) => entry.name);
  for (const start of ["sell:", "buy", "build:"]) {
    const found = names.find((name) => name.startsWith(start));
    if (found) return found;
  }
  const free = names.filter((name) => {
    const owner = state.palaces[name.replace("move:", "")];
    return owner === undefined || owner === seat;
  });
  return free[random % free.length];
}

lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "start") {
    say({ type: "ready", wants: ["state"] });
  } else if (message.type === "act") {
    say({ id: message.id, action: choose(message) });
  }
});
