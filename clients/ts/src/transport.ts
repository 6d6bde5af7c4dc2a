import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { TokenService } from "../gen/beckon/v1/token_pb.js";
import { BeckonError } from "./error.js";
import type { IdentityStore } from "./identity.js";
import { TokenSource } from "./identity.js";

/** Unary calls end after this many milliseconds unless the caller says otherwise. */
export const deadline = 30_000;

/**
 * webTransport is the way to a server by fetch. Nothing but the named server
 * hears a credential: redirects are refused, and cookies are not sent. Throws
 * for a plain http:// server on another machine.
 */
export function webTransport(server: string, fetcher: typeof fetch = fetch): Transport {
  const url = new URL(server);
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && local)) {
    throw new TypeError("http:// is for this machine only, use https://");
  }
  return createConnectTransport({
    baseUrl: server.replace(/\/+$/, ""),
    useBinaryFormat: true,
    fetch: (input, init) => fetcher(input, { ...init, redirect: "error", credentials: "omit", cache: "no-store" }),
  });
}

/** anonymous carries the calls that prove themselves by their body. */
export function anonymous(base: Transport): Transport { return new Calls(base, undefined); }

/**
 * authorized carries the calls of an installation. Its access token is renewed
 * before it ends, and once where the server refuses it. Every error of a call is
 * a BeckonError.
 */
export function authorized(base: Transport, identity: IdentityStore): Transport {
  const tokens = createClient(TokenService, anonymous(base));
  return new Calls(base, new TokenSource(identity, (r) => tokens.refreshToken(r)));
}

class Calls implements Transport {
  readonly #base: Transport;
  readonly #tokens: TokenSource | undefined;

  constructor(base: Transport, tokens: TokenSource | undefined) {
    this.#base = base;
    this.#tokens = tokens;
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, signal: AbortSignal | undefined, timeoutMs: number | undefined,
    header: HeadersInit | undefined, input: MessageInitShape<I>, contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const within = timeoutMs ?? deadline;
    return this.#call(header, (h) => this.#base.unary(method, signal, within, h, input, contextValues));
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>, signal: AbortSignal | undefined, timeoutMs: number | undefined,
    header: HeadersInit | undefined, input: AsyncIterable<MessageInitShape<I>>, contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    let token = "";
    try {
      token = await this.#token();
      const res = await this.#base.stream(method, signal, timeoutMs, bearing(header, token), input, contextValues);
      return { ...res, message: this.#explained(res.message, token) };
    } catch (e) {
      throw await this.#ending(e, token);
    }
  }

  /** A stream is not repeated: who reads it knows where to go on. */
  async *#explained<T>(messages: AsyncIterable<T>, token: string): AsyncIterable<T> {
    try {
      yield* messages;
    } catch (e) {
      throw await this.#ending(e, token);
    }
  }

  /** What a stream ended with; where its token was refused and there is another, try again. */
  async #ending(cause: unknown, token: string): Promise<BeckonError> {
    const e = BeckonError.from(cause);
    if (e.code !== Code.Unauthenticated || token === "") return e;
    try {
      if (!await this.#tokens?.refused(token)) return e;
    } catch (other) {
      return BeckonError.from(other);
    }
    return new BeckonError("the credential was renewed", { code: Code.Unavailable, cause });
  }

  async #call<T>(header: HeadersInit | undefined, send: (header: Headers) => Promise<T>): Promise<T> {
    try {
      const token = await this.#token();
      try {
        return await send(bearing(header, token));
      } catch (cause) {
        const e = BeckonError.from(cause);
        if (e.code !== Code.Unauthenticated || token === "" || !await this.#tokens?.refused(token)) throw e;
        return await send(bearing(header, await this.#token()));
      }
    } catch (cause) {
      throw BeckonError.from(cause);
    }
  }

  async #token(): Promise<string> { return await this.#tokens?.token() ?? ""; }
}

function bearing(header: HeadersInit | undefined, token: string): Headers {
  const out = new Headers(header);
  if (token !== "") out.set("Authorization", `Bearer ${token}`);
  return out;
}
