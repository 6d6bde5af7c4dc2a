package rpc

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

// decisionFor is a decision as this caller may see it: a program gets its host's
// request back, a person sees only which dialect it came in.
func decisionFor(p policy.Principal, s decision.State) *v1.Decision {
	out := decisionOut(s)
	if !p.Person() {
		out.Origin = originOut(s.Origin)
	}
	return out
}

// originShown is what a person sees of a host.
func originShown(o *decision.Origin) *v1.Origin {
	if o == nil {
		return nil
	}
	return &v1.Origin{Dialect: o.Dialect}
}

func originOut(o *decision.Origin) *v1.Origin {
	if o == nil {
		return nil
	}
	return &v1.Origin{
		Dialect: o.Dialect, Version: o.Version, Raw: o.Raw, RawSha256: digestOut(o.RawDigest), Correlation: o.Correlation,
		CanEdit: o.CanEdit, CanPersist: o.CanPersist, CanText: o.CanText, CanMulti: o.CanMulti, HostTimeout: durationOut(o.HostTimeout),
	}
}

// originIn drops what only the server sets.
func originIn(o *v1.Origin) *decision.Origin {
	if o == nil {
		return nil
	}
	return &decision.Origin{
		Dialect: o.GetDialect(), Version: o.GetVersion(), Raw: o.GetRaw(), Correlation: o.GetCorrelation(),
		CanEdit: o.GetCanEdit(), CanPersist: o.GetCanPersist(), CanText: o.GetCanText(), CanMulti: o.GetCanMulti(),
		HostTimeout: waitIn(o.GetHostTimeout()),
	}
}

func durationOut(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func shownEvidenceOut(e decision.Evidence) *v1.DecisionEvidence {
	return &v1.DecisionEvidence{Type: v1.EvidenceType(e.Kind), Sha256: digestOut(e.SHA256), Bytes: e.Bytes, Title: e.Title, MustView: e.MustView}
}

func shownEvidenceIn(field string, list []*v1.DecisionEvidence) ([]decision.Evidence, error) {
	var out []decision.Evidence
	for i, e := range list {
		kind, err := enumIn(fmt.Sprintf("%s[%d].type", field, i), e.GetType(), decision.EvidenceCost)
		if err != nil {
			return nil, err
		}
		digest, err := digestIn(fmt.Sprintf("%s[%d].sha256", field, i), e.GetSha256())
		if err != nil {
			return nil, err
		}
		out = append(out, decision.Evidence{Kind: kind, SHA256: digest, Bytes: e.GetBytes(), Title: e.GetTitle(), MustView: e.GetMustView()})
	}
	return out, nil
}

func amendmentIn(r *v1.AmendDecisionRequest) (decision.Amendment, error) {
	out := decision.Amendment{Reason: r.GetAgentReason(), Evidence: map[string][]decision.Evidence{}}
	for i, it := range r.GetEvidence() {
		list, err := shownEvidenceIn(fmt.Sprintf("evidence[%d].evidence", i), it.GetEvidence())
		if err != nil {
			return out, err
		}
		out.Evidence[it.GetItemId()] = append(out.Evidence[it.GetItemId()], list...)
	}
	return out, nil
}
