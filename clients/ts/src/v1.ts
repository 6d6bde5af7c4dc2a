// The messages and services of the wire, as generated. Take from here by name:
// what is not named is not in the bundle.
export * from "../gen/beckon/v1/account_pb.js";
export * from "../gen/beckon/v1/address_pb.js";
export * from "../gen/beckon/v1/agent_pb.js";
export * from "../gen/beckon/v1/artifact_pb.js";
export * from "../gen/beckon/v1/audit_pb.js";
export * from "../gen/beckon/v1/decision_pb.js";
export * from "../gen/beckon/v1/delivery_pb.js";
export * from "../gen/beckon/v1/draft_pb.js";
export * from "../gen/beckon/v1/effect_pb.js";
export * from "../gen/beckon/v1/entity_pb.js";
export * from "../gen/beckon/v1/error_pb.js";
export * from "../gen/beckon/v1/header_pb.js";
export * from "../gen/beckon/v1/installation_pb.js";
export * from "../gen/beckon/v1/item_pb.js";
export * from "../gen/beckon/v1/mutation_pb.js";
export * from "../gen/beckon/v1/pairing_pb.js";
export * from "../gen/beckon/v1/push_pb.js";
export * from "../gen/beckon/v1/question_pb.js";
export * from "../gen/beckon/v1/sync_pb.js";
export * from "../gen/beckon/v1/task_pb.js";
export * from "../gen/beckon/v1/thread_pb.js";
export * from "../gen/beckon/v1/timer_pb.js";
export * from "../gen/beckon/v1/token_pb.js";
