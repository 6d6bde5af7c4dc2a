package rpc_test

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// target is whose thing a call names.
type target struct {
	name string
	side func(*world) side
}

func targets() []target {
	return []target{
		{"own", func(w *world) side { return w.own }},
		// other is a thing of the same account that another agent works on.
		{"other", func(w *world) side {
			s := w.own
			s.agent = s.other
			return s
		}},
		{"foreign", func(w *world) side { return w.newSide("foreign") }},
		{"missing", func(w *world) side { return w.missing() }},
	}
}

// request makes a good call of a procedure by a caller on the things of a side.
// named says whether the call names anything at all.
type request struct {
	named bool
	make  func(w *world, caller device, s side) proto.Message
}

// requests has one entry for each procedure; the test fails where one is
// missing.
func requests() map[string]request {
	const v = "/beckon.v1."
	all := map[string]request{}
	for _, group := range []map[string]request{taskRequests(v), decisionRequests(v), effectRequests(v), peopleRequests(v), readRequests(v), artifactRequests(v)} {
		maps.Copy(all, group)
	}
	return all
}

func named(fn func(w *world, caller device, s side) proto.Message) request { return request{true, fn} }

func plain(fn func(w *world, caller device) proto.Message) request {
	return request{false, func(w *world, caller device, _ side) proto.Message { return fn(w, caller) }}
}

func taskRequests(v string) map[string]request {
	return map[string]request{
		v + "TaskService/CreateTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.CreateTaskRequest{IdempotencyKey: "k", Title: "New", AccountId: store.AccountID(s.account), AgentId: s.agent.id, ThreadId: s.agent.thread}
		}),
		v + "TaskService/ClaimTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{ClaimId: "claim-new"}, TaskId: s.agent.ready}
		}),
		v + "TaskService/Heartbeat": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.HeartbeatRequest{TaskId: s.agent.task, LeaseId: s.agent.lease}
		}),
		v + "TaskService/SaveCheckpoint": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SaveCheckpointRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Checkpoint: &v1.CheckpointWrite{Data: []byte("x")}}
		}),
		v + "TaskService/YieldTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.YieldTaskRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Wait: &v1.WaitSet{DecisionIds: []string{s.agent.asked.ID}}}
		}),
		v + "TaskService/ReleaseTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ReleaseTaskRequest{TaskId: s.agent.task, LeaseId: s.agent.lease}
		}),
		v + "TaskService/AckSignals": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.AckSignalsRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, SignalIds: []uint64{1}}
		}),
		v + "TaskService/UpdateProgress": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.UpdateProgressRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Progress: &v1.Progress{Text: "x"}}
		}),
		v + "TaskService/CompleteTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.CompleteTaskRequest{TaskId: s.agent.task, LeaseId: s.agent.lease}
		}),
		v + "TaskService/FailTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.FailTaskRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Failure: &v1.TaskFailure{Code: "x"}}
		}),
		v + "AuditService/ListAudit": named(func(_ *world, _ device, _ side) proto.Message { return &v1.ListAuditRequest{} }),
		v + "TimerService/SetTimer": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SetTimerRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Key: "k", When: &v1.SetTimerRequest_After{After: durationpb.New(time.Hour)}}
		}),
		v + "TimerService/CancelTimer": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.CancelTimerRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Key: "k"}
		}),
		v + "TimerService/ListTimers": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ListTimersRequest{TaskId: s.agent.task}
		}),
		v + "TaskService/PauseTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.PauseTaskRequest{IdempotencyKey: "k", TaskId: s.agent.task}
		}),
		v + "TaskService/ResumeTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ResumeTaskRequest{IdempotencyKey: "k", TaskId: s.agent.task}
		}),
		v + "TaskService/StopTask": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.StopTaskRequest{IdempotencyKey: "k", TaskId: s.agent.task}
		}),
		v + "TaskService/GetTask": named(func(_ *world, _ device, s side) proto.Message { return &v1.GetTaskRequest{TaskId: s.agent.task} }),
		v + "ItemService/AppendItems": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.AppendItemsRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Items: []*v1.ItemDraft{{
				ClientId: "i", Role: v1.ItemRole_ITEM_ROLE_AGENT, Kind: v1.ItemKind_ITEM_KIND_MESSAGE,
				Parts: []*v1.Part{{Part: &v1.Part_Text{Text: "x"}}},
			}}}
		}),
		v + "AgentService/MintTaskToken": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.MintTaskTokenRequest{TaskId: s.agent.task, LeaseId: s.agent.lease}
		}),
	}
}

// artifactText is what every worker's task has.
const artifactText = "evidence"

func artifactRequests(v string) map[string]request {
	write := func(s side, text string) *v1.ArtifactWrite {
		sum := sha256.Sum256([]byte(text))
		return &v1.ArtifactWrite{TaskId: s.agent.task, LeaseId: s.agent.lease, Sha256: sum[:], Size: uint64(len(text))}
	}
	sum := sha256.Sum256([]byte(artifactText))
	return map[string]request{
		v + "ArtifactService/PutArtifact": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.PutArtifactRequest{Artifact: write(s, "small"), Data: []byte("small")}
		}),
		// An empty one has no chunk after the first message.
		v + "ArtifactService/UploadArtifact": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Artifact{Artifact: write(s, "")}}
		}),
		v + "ArtifactService/DownloadArtifact": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.DownloadArtifactRequest{Sha256: sum[:], TaskId: s.agent.task}
		}),
		v + "ArtifactService/GetArtifact": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.GetArtifactRequest{Sha256: sum[:], TaskId: s.agent.task}
		}),
	}
}

func decisionRequests(v string) map[string]request {
	return map[string]request{
		v + "DecisionService/RequestDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.RequestDecisionRequest{
				TaskId: s.agent.task, LeaseId: s.agent.lease, Key: "second", Title: "Which?",
				Kind:  v1.DecisionKind_DECISION_KIND_TEXT,
				Items: []*v1.DecisionItem{{Id: "it", Question: "Which one?"}},
			}
		}),
		v + "DecisionService/WaitDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.WaitDecisionRequest{DecisionId: s.agent.asked.ID}
		}),
		v + "DecisionService/WithdrawDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.WithdrawDecisionRequest{DecisionId: s.agent.asked.ID, Reason: v1.WithdrawReason_WITHDRAW_REASON_OBSOLETE}
		}),
		v + "DecisionService/GetDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.GetDecisionRequest{DecisionId: s.agent.asked.ID}
		}),
		v + "DecisionService/RevokeGrant": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.RevokeGrantRequest{GrantId: s.agent.grant}
		}),
		v + "DecisionService/AmendDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.AmendDecisionRequest{DecisionId: s.agent.asked.ID, AgentReason: "And more."}
		}),
		v + "DecisionService/SnoozeDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SnoozeDecisionRequest{DecisionId: s.agent.asked.ID, Snooze: durationpb.New(time.Minute)}
		}),
		v + "DecisionService/DenyAllOpen": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.DenyAllOpenRequest{IdempotencyKey: "deny all", TaskId: s.agent.task}
		}),
		v + "DecisionService/PreviewEdit": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.PreviewEditRequest{DecisionId: s.agent.asked.ID, Revision: 1, ItemId: s.agent.asked.Items[0].ID, EditedArgsJson: []byte("{}")}
		}),
		v + "DecisionService/AcknowledgeDecision": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.AcknowledgeDecisionRequest{DecisionId: s.agent.asked.ID}
		}),
		v + "DecisionService/AnswerDecision": named(func(w *world, caller device, s side) proto.Message {
			asked := s.agent.asked
			view, signature := w.sign(caller, asked, "deny", "answer")
			return &v1.AnswerDecisionRequest{
				DecisionId: asked.ID, Revision: asked.Revision, AskedDigest: asked.Asked[:], ViewDigest: view,
				AnswerKey: "answer", Items: []*v1.AnswerItem{{ItemId: "it", OptionIds: []string{"deny"}}}, Proof: signature,
			}
		}),
	}
}

func effectRequests(v string) map[string]request {
	return map[string]request{
		v + "EffectService/BeginEffect": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.BeginEffectRequest{TaskId: s.agent.task, LeaseId: s.agent.lease, Key: "write", GrantId: s.agent.grant}
		}),
		v + "EffectService/ConfirmEffect": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ConfirmEffectRequest{EffectId: s.agent.effect, Generation: 1, Result: v1.EffectResult_EFFECT_RESULT_OK}
		}),
		v + "EffectService/ReportEvidence": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ReportEvidenceRequest{EffectId: s.agent.effect, Generation: 1, Kind: v1.EvidenceKind_EVIDENCE_KIND_UNKNOWN}
		}),
		v + "EffectService/GetEffect": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.GetEffectRequest{EffectId: s.agent.effect}
		}),
		v + "EffectService/ListEffects": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ListEffectsRequest{TaskId: s.agent.task}
		}),
	}
}

func readRequests(v string) map[string]request {
	return map[string]request{
		v + "ThreadService/GetThread": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.GetThreadRequest{ThreadId: s.agent.thread}
		}),
		v + "ThreadService/SendMessage": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SendMessageRequest{IdempotencyKey: "k", ThreadId: s.agent.thread, Text: "hello"}
		}),
		v + "ThreadService/MarkRead": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.MarkReadRequest{ThreadId: s.agent.thread, ReadMark: &v1.ReadMark{NotablePosition: 1}}
		}),
		v + "DraftService/SetDraft": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SetDraftRequest{SubjectId: s.agent.asked.ID, Text: "not yet"}
		}),
		v + "DraftService/SetView": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.SetViewRequest{ThreadId: s.agent.thread, DecisionId: s.agent.asked.ID}
		}),
		v + "ThreadService/ArchiveThread": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ArchiveThreadRequest{ThreadId: s.agent.thread, Archived: true}
		}),
		v + "ThreadService/ListThreads": named(func(*world, device, side) proto.Message {
			return &v1.ListThreadsRequest{}
		}),
		v + "DeliveryService/ListDeliveries": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ListDeliveriesRequest{SubjectId: s.agent.asked.ID}
		}),
		v + "InstallationService/ReportPresence": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ReportPresenceRequest{ThreadId: s.agent.thread, Foreground: true}
		}),
		v + "ItemService/ListItems": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.ListItemsRequest{ThreadId: s.agent.thread}
		}),
		v + "SyncService/Bootstrap": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.BootstrapRequest{Scope: &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: s.agent.thread}}}
		}),
		v + "SyncService/Pull": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.PullRequest{At: []*v1.At{{Scope: &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: s.agent.thread}}, Cursor: []byte("x")}}}
		}),
		v + "SyncService/Point": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.PointRequest{Refs: []*v1.PointRef{{
				Scope: &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: s.agent.thread}}, Kind: v1.EntityKind_ENTITY_KIND_DECISION, Id: s.agent.asked.ID,
			}}}
		}),
		v + "SyncService/Mutate": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.MutateRequest{Mutations: []*v1.Mutation{{
				Id: "00000000-0000-4000-8000-000000000001",
				Op: &v1.Mutation_View{View: &v1.SetViewRequest{ThreadId: s.agent.thread}},
			}}}
		}),
		v + "SyncService/Watch": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.WatchRequest{At: []*v1.At{{Scope: &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: s.agent.thread}}, Cursor: []byte("x")}}}
		}),
	}
}

func peopleRequests(v string) map[string]request {
	return map[string]request{
		v + "AccountService/GetAccount": plain(func(*world, device) proto.Message { return &v1.GetAccountRequest{} }),
		v + "AccountService/UpdateSettings": plain(func(*world, device) proto.Message {
			return &v1.UpdateSettingsRequest{ContentLevel: v1.ContentLevel_CONTENT_LEVEL_FULL.Enum()}
		}),
		v + "AccountService/SetKillSwitch": plain(func(*world, device) proto.Message {
			return &v1.SetKillSwitchRequest{IdempotencyKey: "k", On: true}
		}),
		v + "AddressService/PutAddress": plain(func(*world, device) proto.Message {
			return &v1.PutAddressRequest{
				Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: "00112233445566778899aabbccddeeff",
				Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX, Topic: "dev.beckon",
			}
		}),
		v + "AddressService/TestPush": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.TestPushRequest{InstallationId: s.victim.id}
		}),
		v + "AgentService/CreateAgent": plain(func(*world, device) proto.Message {
			return &v1.CreateAgentRequest{IdempotencyKey: "k", Name: "New"}
		}),
		v + "AgentService/LinkAgent":   named(func(_ *world, _ device, s side) proto.Message { return &v1.LinkAgentRequest{AgentId: s.agent.id} }),
		v + "AgentService/UnlinkAgent": named(func(_ *world, _ device, s side) proto.Message { return &v1.UnlinkAgentRequest{AgentId: s.agent.id} }),
		v + "AgentService/ListAgents":  plain(func(*world, device) proto.Message { return &v1.ListAgentsRequest{} }),
		v + "AgentService/IssueKey":    named(func(_ *world, _ device, s side) proto.Message { return &v1.IssueKeyRequest{AgentId: s.agent.id} }),
		v + "AgentService/RevokeKey":   named(func(_ *world, _ device, s side) proto.Message { return &v1.RevokeKeyRequest{KeyId: s.agent.keyID} }),

		v + "InstallationService/PutInstallation": plain(func(*world, device) proto.Message {
			return &v1.PutInstallationRequest{Label: new("New")}
		}),
		v + "InstallationService/ListInstallations": plain(func(*world, device) proto.Message { return &v1.ListInstallationsRequest{} }),
		v + "InstallationService/RevokeInstallation": named(func(_ *world, _ device, s side) proto.Message {
			return &v1.RevokeInstallationRequest{InstallationId: s.victim.id}
		}),

		v + "PairingService/ClaimServer": plain(func(w *world, _ device) proto.Message {
			link, err := w.app.AddAccount(w.t.Context(), policy.Principal{Kind: policy.Operator})
			check(w.t, err)
			return &v1.ClaimServerRequest{Secret: link.Secret.Reveal(), Installation: w.newcomer()}
		}),
		v + "PairingService/OfferPairing": plain(func(*world, device) proto.Message { return &v1.OfferPairingRequest{} }),
		v + "PairingService/RedeemPairing": named(func(w *world, _ device, s side) proto.Message {
			code := w.offer(s).Code.Reveal()
			if code == "" {
				code = "7K4M-Q2ZD" // of the right form, and nobody's
			}
			return &v1.RedeemPairingRequest{Code: code, Installation: w.newcomer()}
		}),
		v + "PairingService/ConfirmPairing": named(func(w *world, _ device, s side) proto.Message {
			offer, digits := w.redeemed(s)
			return &v1.ConfirmPairingRequest{OfferId: offer, Digits: digits}
		}),
		v + "PairingService/GetPairing": named(func(w *world, _ device, s side) proto.Message {
			return &v1.GetPairingRequest{OfferId: w.offer(s).ID}
		}),
		v + "PairingService/RequestUnlock": plain(func(*world, device) proto.Message { return &v1.RequestUnlockRequest{} }),
		v + "PairingService/UnlockTerminal": named(func(w *world, _ device, s side) proto.Message {
			return &v1.UnlockTerminalRequest{InstallationId: s.terminal.id, Digits: w.unlockDigits(s)}
		}),

		v + "TokenService/RefreshToken": plain(func(w *world, _ device) proto.Message {
			const attempt = "attempt-0123456789"
			return &v1.RefreshTokenRequest{RefreshToken: w.own.victim.refresh, Attempt: attempt, Proof: w.signRefresh(w.own.victim, attempt)}
		}),
		v + "TokenService/Elevate": plain(func(w *world, caller device) proto.Message {
			const nonce = "nonce-0123456789"
			return &v1.ElevateRequest{Nonce: nonce, Proof: w.signElevate(caller, nonce)}
		}),
	}
}

// newcomer is a device nobody knows yet.
func (w *world) newcomer() *v1.NewInstallation {
	w.t.Helper()
	return &v1.NewInstallation{Platform: v1.Platform_PLATFORM_IOS, Label: "New", PublicKey: public(w.t, newKey(w.t))}
}

// offer is made by the phone of a side; the missing side has no phone, so its
// offer is an id that names nothing.
func (w *world) offer(s side) app.PairingOffer {
	w.t.Helper()
	if s.phone.id != s.phone.Installation {
		id, err := store.NewID(store.KindOffer, s.account, w.now(), rand.Reader)
		check(w.t, err)
		return app.PairingOffer{ID: id}
	}
	offer, err := w.app.OfferPairing(w.t.Context(), s.phone.Principal)
	check(w.t, err)
	return offer
}

func (w *world) redeemed(s side) (offer, digits string) {
	w.t.Helper()
	made := w.offer(s)
	if made.Code.Reveal() == "" {
		return made.ID, "0000"
	}
	got, err := w.app.RedeemPairing(w.t.Context(), app.RedeemPairing{
		Offer: made.ID, Secret: made.Secret, Device: w.describe(w.newDevice(store.PlatformIOS), store.PlatformIOS),
		KeyMAC: make([]byte, 32),
	})
	check(w.t, err)
	return made.ID, got.Digits.Reveal()
}

func (w *world) unlockDigits(s side) string {
	w.t.Helper()
	if s.terminal.id != s.terminal.Installation {
		return "0000"
	}
	offer, err := w.app.RequestUnlock(w.t.Context(), s.terminal.Principal)
	check(w.t, err)
	return offer.Digits.Reveal()
}
