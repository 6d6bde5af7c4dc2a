import { Code, ConnectError } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../gen/beckon/v1/error_pb.js";

/**
 * BeckonError is a call that was refused or that reached nobody. Programs act on
 * reason, whose words stand in PROTOCOL.md; the message is for people.
 */
export class BeckonError extends Error {
  override readonly name = "BeckonError";
  /** The coarse kind. */
  readonly code: Code;
  /** The stable word to act on; UNREACHABLE where nobody has answered, empty from what is not Beckon, such as a proxy. */
  readonly reason: string;
  /** Path of the request field at fault, in proto names; empty when none is. */
  readonly field: string;
  /** The bound that was passed; 0 when none was. */
  readonly max: bigint;
  /** Milliseconds until the same call may succeed; 0 where waiting does not help. */
  readonly retryAfter: number;

  constructor(message: string, of: { code: Code; reason?: string; field?: string; max?: bigint; retryAfter?: number; cause?: unknown }) {
    super(message, { cause: of.cause });
    this.code = of.code;
    this.reason = of.reason ?? "";
    this.field = of.field ?? "";
    this.max = of.max ?? 0n;
    this.retryAfter = of.retryAfter ?? 0;
  }

  /** The same call would be refused again; what is left is trouble on the way, to be waited out. */
  get final(): boolean {
    switch (this.code) {
      case Code.Unavailable: case Code.DeadlineExceeded: case Code.ResourceExhausted:
      case Code.Internal: case Code.Unknown: case Code.DataLoss:
        return false;
      default:
        return true;
    }
  }

  /** This device is no part of the account any more and has to be paired again. */
  get ended(): boolean {
    return this.code === Code.Unauthenticated && ["REVOKED", "REUSED", "EXPIRED"].includes(this.reason);
  }

  /** The typed error of whatever a call ended with. */
  static from(cause: unknown): BeckonError {
    if (cause instanceof BeckonError) return cause;
    const e = ConnectError.from(cause);
    const [info] = e.findDetails(ErrorInfoSchema);
    // A browser says that nobody was reached in words of its own.
    const unreached = cause instanceof TypeError || e.cause instanceof TypeError;
    const code = unreached && e.code === Code.Unknown ? Code.Unavailable : e.code;
    return new BeckonError(e.rawMessage, {
      code, cause, reason: info?.reason ?? (unreached ? "UNREACHABLE" : ""), field: info?.field ?? "", max: info?.max ?? 0n,
      retryAfter: info?.retryAfter ? durationMs(info.retryAfter) : 0,
    });
  }
}
