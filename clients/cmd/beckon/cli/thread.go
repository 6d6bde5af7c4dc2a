package cli

import (
	"fmt"
	"strings"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type threadCommand struct {
	List    threadListCommand    `cmd:"" help:"List all threads, the latest first; with words, those that have them in the title or in what was said."`
	Archive threadArchiveCommand `cmd:"" help:"Put a thread out of the way until something happens in it."`
}

type threadListCommand struct {
	Words    []string `arg:""                        help:"Words to look for."          optional:""`
	Archived bool     `help:"Only archived threads."`
	Most     int      `default:"30"                  help:"How many at most; 0 is all."`
}

type threadFoundView struct {
	threadView
	Snippet string `json:"snippet,omitempty"`
}

// Run lists threads. A search takes as many calls as there is text to look at.
func (c threadListCommand) Run(s *session) error {
	if c.Most < 0 {
		return usage("--most is 0 or more")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	req := &v1.ListThreadsRequest{Query: strings.Join(c.Words, " "), PageSize: 100}
	if c.Archived {
		req.Archive = v1.ArchiveFilter_ARCHIVE_FILTER_ARCHIVED
	}
	found := []threadFoundView{}
	for first := true; first || len(req.GetPageToken()) > 0; first = false {
		res, err := p.Threads.ListThreads(s.ctx, req)
		if err != nil {
			return err
		}
		req.PageToken = res.GetNextPageToken()
		for _, m := range res.GetMatches() {
			found = append(found, threadFoundView{threadViewOf(m.GetThread()), m.GetSnippet()})
		}
		if c.Most > 0 && len(found) >= c.Most {
			found = found[:c.Most]
			break
		}
	}
	if s.line.JSON {
		return s.print(found)
	}
	s.printFound(found)
	return nil
}

func (s *session) printFound(found []threadFoundView) {
	if len(found) == 0 {
		s.sayf("No thread was found.")
	}
	for _, v := range found {
		line := fmt.Sprintf("%s  %s", v.ID, oneLine(v.Title))
		if v.Archived {
			line += "  [archived]"
		}
		s.sayf("%s", line)
		if v.Snippet != "" {
			s.sayf("    %s", oneLine(v.Snippet))
		}
	}
}

type threadArchiveCommand struct {
	ID   string `arg:""                help:"The thread." name:"id"`
	Back bool   `help:"Fetch it back."`
}

// Run archives a thread.
func (c threadArchiveCommand) Run(s *session) error {
	if err := s.id(c.ID, "thr"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Threads.ArchiveThread(s.ctx, &v1.ArchiveThreadRequest{ThreadId: c.ID, Archived: !c.Back})
	switch {
	case err != nil:
		return err
	case s.line.JSON:
		return s.print(threadViewOf(res.GetThread()))
	case c.Back:
		s.sayf("It is back.")
	default:
		s.sayf("Archived. It comes back when something happens in it.")
	}
	return nil
}
