// What is done to a phone: pairing and claiming it, its condition, and how it
// taps or misbehaves by itself.
import { button, call, element, isAndroid, phonePath } from "/page/api.js";

const faults = ["none", "wrong-key", "replay", "wrong-verb", "forged-token", "no-proof"];

export function controlsOf(view, phone) {
  const pairing = pairingOf(view);
  const toggles = togglesOf(view, phone);
  const threads = element("ul", { class: "rows threads", "aria-label": "Threads" });
  const inApp = element("details", {}, element("summary", {}, "In the app"), threads);
  const more = element("details", {}, element("summary", {}, "Condition"), toggles.box);
  const box = element("div", { class: "controls" }, pairing.box, inApp, more);
  let listed = "";
  return {
    box,
    draw(now, phones) {
      pairing.draw(now, phones);
      toggles.draw(now);
      inApp.hidden = !now.paired;
      const list = JSON.stringify([now.threads, now.looking]);
      if (list === listed) return;
      listed = list;
      threads.replaceChildren(...(now.threads ?? []).map((t) => element("li", {},
        button(t.title || t.id, () => view.attempt("open", { thread: t.id }), { class: "row", "aria-current": now.looking === t.id ? "true" : undefined }),
        t.unread ? element("span", { class: "quiet" }, `${t.unread} unread`) : null)));
      if (!threads.children.length) threads.append(element("li", { class: "quiet" }, "No threads yet"));
    },
  };
}

function pairingOf(view) {
  const server = element("input", { name: "server", type: "url", required: true, autocomplete: "off", spellcheck: false });
  const code = element("input", { name: "code", required: true, maxLength: 16, autocomplete: "off", spellcheck: false, placeholder: "7K4M-Q2ZD", class: "code" });
  const link = element("input", { name: "link", required: true, autocomplete: "off", spellcheck: false });
  link.placeholder = "…/claim#bk_own_…";
  const digits = element("p", { class: "digits", role: "status" });
  const pair = element("form", { class: "fields" },
    element("label", {}, "Server ", server), element("label", {}, "Code from beckon pair ", code), element("button", {}, "Pair"));
  const claim = element("form", { class: "fields" }, element("label", {}, "Claim link of a new server ", link), element("button", {}, "Claim"));
  const box = element("details", { open: true }, element("summary", {}, "Pair or claim"), pair, digits, claim);
  pair.addEventListener("submit", async (e) => {
    e.preventDefault();
    const offered = await view.attempt("pair", { server: server.value, code: code.value });
    if (!offered) return;
    digits.replaceChildren("Type these digits there: ", element("b", {}, offered.digits));
    try {
      await call("GET", phonePath(view.name, "pair"));
      view.said.textContent = "Paired";
      code.value = "";
    } catch (err) {
      view.said.textContent = err.message;
    }
    digits.replaceChildren();
    view.refresh();
  });
  claim.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (await view.attempt("claim", { link: link.value })) {
      view.said.textContent = "This phone is the first device";
      link.value = "";
    }
  });
  let paired;
  return {
    box,
    draw(now, phones) {
      box.hidden = !now.installed;
      if (now.paired !== paired) box.open = !now.paired && phones.length < 4;
      paired = now.paired;
      box.firstChild.textContent = now.paired ? "Pair with another account" : "Pair or claim";
      // The page carries no address of its own: what others are paired with is likely.
      const known = phones.find((p) => p.server)?.server;
      if (!server.value && document.activeElement !== server) server.value = known ?? `http:${"//"}127.0.0.1:8420`;
    },
  };
}

function togglesOf(view, phone) {
  const set = (condition) => view.attempt("set", { condition });
  const toggle = (label, is, on, off) => {
    const input = element("input", { type: "checkbox", role: "switch" });
    input.addEventListener("change", () => set(input.checked ? on : off));
    return { row: element("label", { class: "check" }, input, ` ${label}`), draw: (now) => { input.checked = is(now); }, needs: on.startsWith("notif") };
  };
  const toggles = [
    toggle("Network", (p) => p.online, "online", "offline"),
    toggle("Notifications allowed", (p) => p.notifications, "notifications-on", "notifications-off"),
  ];
  if (isAndroid(phone)) toggles.push(toggle("Doze", (p) => p.doze, "doze", "awake"));
  const quit = button("End the app", () => set("quit"));
  const launch = button("Open the app", () => set("launch"));
  const token = button("New token", () => set("new-token"));
  const away = button("Uninstall", () => set("uninstall"), { class: "deny" });
  const back = button("Install", () => set("install"));
  const sync = button("Sync", () => view.attempt("sync"));
  const extra = isAndroid(phone) ? [button("New FID", () => set("new-fid")), button("Maintenance window", () => set("maintenance"))] : [];
  const auto = select("Taps by itself", ["none", "approve", "deny"], (v) => view.attempt("auto", { action: v }));
  const fault = select("Misbehaves", faults, (v) => view.attempt("fault", { fault: v }));
  const address = element("code", {});
  const box = element("div", { class: "fields" }, ...toggles.map((t) => t.row),
    element("div", { class: "actions" }, launch, quit, sync, token, ...extra, away, back), auto.row, fault.row,
    element("p", { class: "quiet address" }, "Address ", address));
  return {
    box,
    draw(now) {
      for (const t of toggles) t.draw(now);
      for (const t of toggles) t.row.hidden = t.needs && !now.installed;
      for (const b of [launch, quit, token, away, sync, ...extra]) b.hidden = !now.installed;
      quit.hidden ||= now.quit;
      sync.hidden ||= !now.paired;
      back.hidden = now.installed;
      auto.draw(now.auto || "none");
      fault.draw(now.fault || "none");
      address.textContent = now.address || "none";
    },
  };
}

function select(label, words, choose) {
  const input = element("select", {}, ...words.map((w) => element("option", { value: w }, w)));
  input.addEventListener("change", () => choose(input.value));
  return {
    row: element("label", {}, `${label} `, input),
    draw(now) { if (document.activeElement !== input) input.value = now; },
  };
}
