import { createClient } from "@connectrpc/connect";
import { fromBinary } from "@bufbuild/protobuf";
import { authorized, claim, Follower, MemoryIdentity, MemoryStore, parseClaimLink, webTransport } from "@beckon/client";
import { AccountService, EntityKind, Platform, SettingsSchema, TaskHeaderSchema } from "@beckon/client/v1";

// The link that the server printed at its first start.
const link = process.argv[2];
const me = await claim(link, { platform: Platform.DESKTOP, label: "Example" });
const transport = authorized(webTransport(parseClaimLink(link).server), new MemoryIdentity(me));
const account = createClient(AccountService, transport);

const stop = new AbortController();
const follower = new Follower({
  transport,
  store: new MemoryStore(),
  onTrouble: (trouble) => console.error(trouble ? `away: ${trouble.message}` : "back"),
  onChange(view) {
    const held = view.all();
    for (const e of held.filter((e) => e.kind === EntityKind.TASK_HEADER)) {
      console.log("task:", fromBinary(TaskHeaderSchema, e.body).title);
    }
    const settings = held.find((e) => e.kind === EntityKind.SETTINGS);
    const stopped = settings && fromBinary(SettingsSchema, settings.body).killSwitch;
    console.log(`level: ${held.length} things, agents ${stopped ? "stopped" : "may work"}`);
    if (stopped) stop.abort();
    else void account.setKillSwitch({ idempotencyKey: "example-1", on: true });
  },
});
await follower.run(stop.signal);
