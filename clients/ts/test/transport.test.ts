import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { beforeEach, expect, test } from "vitest";
import type { Identity } from "../src/index.js";
import { authorized, BeckonError, MemoryIdentity, newKey, publicKey, refreshTuple, signRefresh, webTransport } from "../src/index.js";
import { refreshFields } from "../src/proof.js";
import { AccountService, ErrorInfoSchema, SyncService, TokenService } from "../src/v1.js";

const hex = (b: Uint8Array): string => Buffer.from(b).toString("hex");

test("the bytes of a refresh are those of sync/proof, and a key cannot be read", async () => {
  const file = new URL("../../../sync/proof/testdata/vectors.json", import.meta.url);
  const { refresh_proof: vectors } = JSON.parse(readFileSync(file, "utf8")) as { refresh_proof: Record<string, string>[] };
  expect(vectors.length).toBeGreaterThan(0);
  for (const { server_id: serverId = "", account = "", installation = "", attempt = "", token_hash = "", encoding } of vectors) {
    expect(hex(refreshFields({ serverId, account, installation, attempt }, Buffer.from(token_hash, "hex")))).toBe(encoding);
  }
  const key = await newKey();
  expect(key.privateKey.extractable).toBe(false);
  expect(await publicKey(key)).toHaveLength(65);
});

/** A server whose tokens work as PROTOCOL.md says. */
class Fake {
  life = 3600_000;
  good = "a0";
  refresh = "r0";
  spent: { token: string; attempt: string } | undefined;
  exchanges = 0;
  loseAnswers = 0;
  refusal: ConnectError | undefined;

  constructor(readonly key: CryptoKeyPair) {}

  transport = createRouterTransport(({ service }) => {
    service(TokenService, { refreshToken: async (req) => this.exchange(req.refreshToken, req.attempt, req.proof) });
    service(AccountService, {
      getAccount: (_, context) => {
        if (this.refusal) throw this.refusal;
        this.check(context.requestHeader);
        return { accountId: "acc" };
      },
    });
    service(SyncService, {
      watch: (_, context) => {
        this.check(context.requestHeader);
        return (async function* () { yield { frame: { case: "hello" as const, value: {} } }; })();
      },
    });
  });

  check(header: Headers): void {
    if (header.get("Authorization") !== `Bearer ${this.good}`) throw refusal(Code.Unauthenticated, { reason: "EXPIRED" });
  }

  async exchange(token: string, attempt: string, proof: Uint8Array): Promise<object> {
    const signed = await refreshTuple({ serverId: "srv", account: "acc", installation: "ins", refreshToken: token, attempt });
    const genuine = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, this.key.publicKey, Uint8Array.from(proof), signed);
    if (!genuine) throw refusal(Code.PermissionDenied, { reason: "BAD_PROOF" });
    if (token === this.refresh) {
      this.exchanges++;
      this.spent = { token, attempt };
      this.refresh = `r${this.exchanges}`;
      this.good = `a${this.exchanges}`;
    } else if (this.spent?.token !== token || this.spent.attempt !== attempt) throw refusal(Code.Unauthenticated, { reason: "REUSED" });
    if (this.loseAnswers-- > 0) throw new ConnectError("lost", Code.Unavailable);
    return { tokens: { accessToken: this.good, refreshToken: this.refresh, accessExpireTime: timestampFromMs(Date.now() + this.life) } };
  }
}

function refusal(code: Code, info: { reason: string; field?: string; max?: bigint; retryAfterMs?: number }): ConnectError {
  const value = create(ErrorInfoSchema, {
    reason: info.reason, field: info.field ?? "", max: info.max ?? 0n,
    ...(info.retryAfterMs === undefined ? {} : { retryAfter: durationFromMs(info.retryAfterMs) }),
  });
  return new ConnectError("no", code, undefined, [{ desc: ErrorInfoSchema, value }]);
}

let fake: Fake;
let identity: MemoryIdentity;
const held = (key: CryptoKeyPair, accessEnd: number): Identity => ({
  serverId: "srv", account: "acc", installation: "ins", key, refreshToken: "r0", accessToken: "a0", accessEnd, attempt: "",
});

beforeEach(async () => {
  const key = await newKey();
  fake = new Fake(key);
  identity = new MemoryIdentity(held(key, Date.now() + 3600_000));
});

const account = () => createClient(AccountService, authorized(fake.transport, identity));

test("a good token is not renewed; one that is about to end is, once for many calls", async () => {
  await account().getAccount({});
  expect(fake.exchanges).toBe(0);
  await identity.save({ ...await identity.load(), accessEnd: Date.now() + 10_000 });
  const client = account();
  await Promise.all(Array.from({ length: 20 }, () => client.getAccount({})));
  expect(fake.exchanges).toBe(1);
});

test("a refused token is renewed and the call repeated once", async () => {
  fake.good = "other";
  const client = account();
  await Promise.all(Array.from({ length: 5 }, () => client.getAccount({})));
  expect(fake.exchanges).toBe(1);
});

test("an answer that got lost is asked for again with the stored attempt, and is no theft", async () => {
  fake.good = "other";
  fake.loseAnswers = 2;
  await expect(account().getAccount({})).rejects.toMatchObject({ code: Code.Unavailable });
  const { attempt } = await identity.load();
  expect(attempt).not.toBe("");
  await expect(account().getAccount({})).rejects.toMatchObject({ code: Code.Unavailable }); // as a new process
  expect((await identity.load()).attempt).toBe(attempt);
  await account().getAccount({});
  expect(await identity.load()).toMatchObject({ refreshToken: "r1", accessToken: "a1", attempt: "" });
});

test("a clock that is a day ahead does not renew for every call", async () => {
  fake.good = "other";
  fake.life = -86_400_000;
  const client = account();
  for (let i = 0; i < 5; i++) await client.getAccount({});
  expect(fake.exchanges).toBe(1);
});

test("a spent token is the end of the device", async () => {
  fake.good = fake.refresh = "other";
  const e = await account().getAccount({}).then(() => undefined, (e: unknown) => e);
  expect(e).toBeInstanceOf(BeckonError);
  expect(e).toMatchObject({ reason: "REUSED", ended: true, final: true });
});

test("a refusal tells all that the server says", async () => {
  fake.refusal = refusal(Code.ResourceExhausted, { reason: "QUOTA", field: "items[2]", max: 7n, retryAfterMs: 1500 });
  await expect(account().getAccount({})).rejects.toMatchObject({
    name: "BeckonError", code: Code.ResourceExhausted, reason: "QUOTA", field: "items[2]", max: 7n, retryAfter: 1500, final: false,
  });
});

test("a stream whose token was refused ends as one to open again", async () => {
  fake.good = "other";
  const sync = createClient(SyncService, authorized(fake.transport, identity));
  const read = async () => { for await (const f of sync.watch({})) return f.frame.case; return undefined; };
  await expect(read()).rejects.toMatchObject({ code: Code.Unavailable });
  expect(await read()).toBe("hello");
});

test("plain http is for this machine, and nothing is told to where a redirect leads", async () => {
  expect(() => webTransport("http://example.com")).toThrow("https");
  const seen: RequestInit[] = [];
  const base = webTransport("http://127.0.0.1:1/", (_, init) => { seen.push(init ?? {}); return Promise.reject(new TypeError("fetch failed")); });
  await expect(createClient(AccountService, authorized(base, identity)).getAccount({})).rejects.toMatchObject({ code: Code.Unavailable });
  expect(seen[0]).toMatchObject({ redirect: "error", credentials: "omit" });
  expect(new Headers(seen[0]?.headers).get("Connect-Timeout-Ms")).toBe("30000");
});

test("a signature is 64 bytes", async () => {
  const proof = await signRefresh(fake.key.privateKey, { serverId: "srv", account: "acc", installation: "ins", refreshToken: "r", attempt: "a" });
  expect(hex(proof)).toHaveLength(128);
});
