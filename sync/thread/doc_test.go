package thread_test

import (
	"errors"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/thread"
)

// The doc's table says what the code does: each cell is looked up by what a
// thread in that row really does.
func TestDoc_TableIsTheCode(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	for line := range strings.Lines(file.Doc.Text()) {
		cells := strings.Split(line, "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		if len(cells) > 1 {
			table[cells[0]] = cells[1:]
		}
	}
	live := func(deaf bool) thread.State {
		return thread.TaskStarted(thread.State{}, thread.Live{Task: "live", Agent: "agt", NoMessages: deaf}, now)
	}
	none := thread.TaskEnded(live(false), "live", now)
	want := map[string][]string{
		"live task":          {"Append", "Send", "MarkRead", "TaskStarted", "TaskEnded"},
		"none, agent usable": cells(none, true), "none, not usable": cells(none, false),
		"reads messages": cells(live(false), true), "reads no messages": cells(live(true), true),
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("table of the package doc (-code +doc):\n%s", diff)
	}
}

// cells tries everything on a thread and says what happened in the doc's words.
func cells(s thread.State, usable bool) []string {
	out := make([]string, 5)
	grown, _ := thread.Append(s, text(thread.RoleAgent, thread.Message, true, "x"), now)
	if grown.Head == s.Head+1 {
		out[0] = "grows"
	}
	switch to, err := thread.Route(s, usable); {
	case errors.Is(err, thread.ErrNoAgent):
		out[1] = "ErrNoAgent"
	case to == "":
		out[1] = "a new task is to be made"
	case to == "live":
		out[1] = "goes to that task"
	}
	if read := thread.MarkRead(grown, thread.ReadMark{Position: 1}); read.Unread() == 0 && thread.MarkRead(read, thread.ReadMark{}).Unread() == 0 {
		out[2] = "merges"
	}
	started := thread.TaskStarted(s, thread.Live{Task: "new", Agent: "agt"}, now)
	if to, _ := thread.Route(started, true); to == "new" {
		out[3] = map[bool]string{true: "becomes live", false: "newest live"}[len(s.Live) == 0]
	}
	out[4] = "-"
	if len(s.Live) > 0 && len(thread.TaskEnded(s, "live", now).Live) == 0 && len(thread.TaskEnded(started, "new", now).Live) == len(s.Live) {
		out[4] = "the one before, or none"
	}
	return out
}
