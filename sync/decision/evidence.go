package decision

import "slices"

// EvidenceKind is what a piece of evidence is.
type EvidenceKind uint8

// Kinds, as on the wire and on disk.
const (
	EvidenceCommand EvidenceKind = 1
	EvidenceDiff    EvidenceKind = 2
	EvidenceDoc     EvidenceKind = 3
	EvidenceURL     EvidenceKind = 4
	EvidenceCost    EvidenceKind = 5
)

// MaxEvidence is how many pieces one item may have.
const MaxEvidence = 16

// Evidence is something to look at, named by the digest of its bytes.
type Evidence struct {
	Kind   EvidenceKind
	SHA256 Digest
	Bytes  uint64
	Title  string
	// MustView: it has to be opened whole before anything is allowed.
	MustView bool
}

// MustView is the digests of what has to be opened before an answer that does
// anything but refuse. A view digest covers exactly these.
func (s State) MustView() []Digest {
	var out []Digest
	for _, it := range s.Items {
		for _, e := range it.Evidence {
			if e.MustView && !slices.Contains(out, e.SHA256) {
				out = append(out, e.SHA256)
			}
		}
	}
	return out
}

func askEvidence(it Item, i int) error {
	if len(it.Evidence) > MaxEvidence {
		return invalid("LIMIT", "items[%d].evidence", i)
	}
	for j, e := range it.Evidence {
		switch {
		case e.SHA256 == Digest{}:
			return invalid("MISSING", "items[%d].evidence[%d].sha256", i, j)
		case e.Bytes == 0:
			return invalid("MISSING", "items[%d].evidence[%d].bytes", i, j)
		case slices.ContainsFunc(it.Evidence[:j], func(o Evidence) bool { return o.SHA256 == e.SHA256 }):
			return invalid("DUPLICATE", "items[%d].evidence[%d].sha256", i, j)
		}
	}
	return nil
}

// Amendment is what an agent may add to a question that is open: its words, and
// things to look at. What is asked stays as it is.
type Amendment struct {
	// Reason takes the place of the agent's words; empty leaves them.
	Reason string
	// Evidence is added by item; what is there already, by its digest, is not
	// added again.
	Evidence map[string][]Evidence
}

// Amended is the card with an amendment, and whether that changes it.
func (s State) AmendedBy(a Amendment) (State, bool, error) {
	changed := false
	card := s
	if a.Reason != "" && a.Reason != s.Reason {
		card.Reason, changed = a.Reason, true
	}
	card.Items = slices.Clone(s.Items)
	known := 0
	for i, it := range card.Items {
		more, ok := a.Evidence[it.ID]
		if !ok {
			continue
		}
		known++
		evidence := slices.Clone(it.Evidence)
		for _, e := range more {
			if !slices.Contains(it.Evidence, e) {
				evidence, changed = append(evidence, e), true
			}
		}
		card.Items[i].Evidence = evidence
		if err := askEvidence(card.Items[i], i); err != nil {
			return s, false, err
		}
	}
	if known != len(a.Evidence) {
		return s, false, invalid("UNKNOWN_ITEM", "evidence")
	}
	if changed && s.Revision >= MaxRevisions {
		return s, false, invalid("LIMIT", "revision")
	}
	return card, changed, nil
}
