// What the app shows of a thread: a question with its ways to answer, or how a
// task ended. The server's facts stand apart from the agent's prose.
import { button, element } from "/page/api.js";

export function cardOf(view, card) {
  const id = `card-${view.name}`;
  const box = element("article", { class: "card", "aria-labelledby": id },
    element("p", { class: "quiet" }, [card.state, card.class].filter(Boolean).join(" · ").replaceAll("_", " ").toLowerCase()),
    element("h3", { id, dir: "auto" }, card.title || "Untitled"));
  const items = card.items || [];
  const chosen = new Map();
  const single = items.length === 1;
  const pending = card.state === "PENDING";
  for (const item of items) {
    if (item.question) box.append(element("p", { class: "text", dir: "auto" }, item.question));
    if (item.facts?.length) box.append(element("ul", { class: "facts", "aria-label": "Facts, checked by the server" }, ...item.facts.map((f) => element("li", {}, f))));
    if (!single && pending) box.append(choice(view, item, chosen));
  }
  if (card.agent_reason) {
    box.append(element("blockquote", {}, element("p", { class: "quiet" }, "The agent says, not checked:"), element("p", { class: "text", dir: "auto" }, card.agent_reason)));
  }
  if (card.text) box.append(element("p", { class: "text", dir: "auto" }, card.text));
  if (card.winner) box.append(element("p", { class: "quiet" }, `Answered on ${card.winner.installation_label || "another device"}`));
  const actions = element("div", { class: "actions" });
  const answer = async (options) => {
    const out = await view.attempt("answer", { options });
    if (out?.counted) await view.attempt("leave");
  };
  if (pending && single) {
    for (const o of items[0].options) actions.append(button(o.label, () => answer([o.id]), { class: o.id }));
  } else if (pending && items.length) {
    actions.append(button("Answer", () => answer(items.map((i) => chosen.get(i.id) ?? ""))));
  }
  actions.append(button("Close", () => view.attempt("leave"), { class: "dismiss" }));
  box.append(actions);
  return box;
}

function choice(view, item, chosen) {
  const group = element("fieldset", {}, element("legend", {}, item.question || item.id));
  for (const o of item.options) {
    const input = element("input", { type: "radio", name: `${view.name}-${item.id}` });
    input.addEventListener("change", () => chosen.set(item.id, o.id));
    group.append(element("label", { class: "check" }, input, ` ${o.label}`));
  }
  return group;
}
