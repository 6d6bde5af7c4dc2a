package cli

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

type auditCommand struct {
	List   auditListCommand   `cmd:"" default:"withargs"                                                                                              help:"Show the newest entries, one a line."`
	Export auditExportCommand `cmd:"" help:"Write the whole chain to standard output, one JSON entry a line, and its head to standard error."`
	Verify auditVerifyCommand `cmd:"" help:"Check a file that was exported, without a server: nothing was changed, moved or left out before its end."`
}

type auditListCommand struct {
	N uint32 `default:"20" help:"At most so many, up to 500." name:"n" short:"n"`
}

// auditEntry is what a line shows; the bytes themselves are exported.
type auditEntry struct {
	Seq     uint64            `json:"seq"`
	Time    time.Time         `json:"time"`
	Actor   string            `json:"actor"`
	Kind    string            `json:"kind"`
	Subject string            `json:"subject"`
	Outcome string            `json:"outcome"`
	Detail  map[string]string `json:"detail,omitempty"`
}

// Run shows the newest entries, oldest first.
func (c auditListCommand) Run(s *session) error {
	if c.N < 1 || c.N > 500 {
		return usage("-n is from 1 to 500")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	head, err := p.Audit.ListAudit(s.ctx, &v1.ListAuditRequest{PageSize: 1})
	if err != nil {
		return err
	}
	after := head.GetHeadSeq() - min(head.GetHeadSeq(), uint64(c.N))
	res, err := p.Audit.ListAudit(s.ctx, &v1.ListAuditRequest{AfterSeq: after, PageSize: c.N})
	if err != nil {
		return err
	}
	for _, raw := range res.GetEntries() {
		var e auditEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("an entry of the audit cannot be read: %w", err)
		}
		if s.line.JSON {
			if err := s.print(e); err != nil {
				return err
			}
			continue
		}
		s.sayf("%s  %-18s %s by %s%s", clock(e.Time), e.Kind, e.Subject, e.Actor, e.words())
	}
	return nil
}

// words are what came of it and the details, for the end of a line.
func (e auditEntry) words() string {
	var out strings.Builder
	if e.Outcome != "" {
		out.WriteString(": " + e.Outcome)
	}
	names := make([]string, 0, len(e.Detail))
	for name := range e.Detail {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&out, "  %s=%s", name, shorten(e.Detail[name], 16, 64))
	}
	return oneLine(out.String())
}

type auditExportCommand struct{}

// Run writes the chain and follows it on the way: what does not hold together
// is not handed on as if it did.
func (auditExportCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	var chain proof.Chain
	for {
		res, err := p.Audit.ListAudit(s.ctx, &v1.ListAuditRequest{AfterSeq: chain.Seq, PageSize: 500})
		if err != nil {
			return err
		}
		if len(res.GetEntries()) == 0 {
			break
		}
		for _, raw := range res.GetEntries() {
			if chain, err = chain.Add(raw); err != nil {
				return exit{exitFailed, err.Error()}
			}
			if _, err := s.out.Write(append(raw, '\n')); err != nil {
				return err
			}
		}
	}
	s.notef("%d entries; head %s", chain.Seq, hex.EncodeToString(chain.Head[:]))
	return nil
}

type auditVerifyCommand struct {
	File string `arg:""                                                                                                help:"The file; - is standard input." name:"file"`
	Head string `help:"The head that was printed when it was exported: then what was cut off at the end is seen, too." placeholder:"HEX"`
}

type auditVerifyView struct {
	Entries uint64 `json:"entries"`
	Head    string `json:"head"`
}

// Run follows the chain of a file. A chain that does not hold is exit status 1.
func (c auditVerifyCommand) Run(s *session) error {
	var in io.Reader = s.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return exit{exitUsage, err.Error()}
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	chain, err := proof.ReadChain(in)
	if errors.Is(err, proof.ErrChain) {
		return exit{exitNo, fmt.Sprintf("%s. The %d entries before hold.", err, chain.Seq)}
	}
	if err != nil {
		return err
	}
	if chain.Seq == 0 {
		return exit{exitNo, "there is no entry in it; the chain of every account has some"}
	}
	v := auditVerifyView{Entries: chain.Seq, Head: hex.EncodeToString(chain.Head[:])}
	if c.Head != "" && !strings.EqualFold(c.Head, v.Head) {
		return exit{exitNo, fmt.Sprintf("the %d entries hold together, but their head is %s: entries are missing at the end, or it is another chain", v.Entries, v.Head)}
	}
	if s.line.JSON {
		return s.print(v)
	}
	s.sayf("%d entries hold. Head %s", v.Entries, v.Head)
	if c.Head == "" {
		s.notef("this does not show whether entries were cut off at the end; --head with the head that the export printed does")
	}
	return nil
}
