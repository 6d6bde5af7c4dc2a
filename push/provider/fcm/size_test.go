package fcm_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

// written composes a push about a text, as a question with buttons or a result.
func written(text string, repeat, token int, question bool) push.Message {
	in := plan.Input{
		Row: push.Delivery{
			ID: "dlv_1", Kind: push.ResultReady, CollapseID: push.CollapseID("dec_1"), ProviderID: push.ProviderID("dlv_1"), ExpiresAt: t0,
			Subject: push.Subject{Thread: "thr_1", Task: "tsk_1", Version: 1},
		},
		Address: push.Address{ID: "adr_1", AccountTag: "tag", Level: push.LevelFull},
		AsOf:    "c3RhbXA", Badge: push.Badge{Count: 3, Epoch: "ZQ", Version: 7}, Deadline: t0,
		OptedIn: true, Tap: func(push.Verb) string { return strings.Repeat("t", token) },
		Result: &plan.Result{Agent: "mailer", Thread: text, Summary: strings.Repeat(text, repeat)},
	}
	if question {
		in.Row.Kind, in.Row.Decision, in.Asked = push.DecisionRequired, "dec_1", strings.Repeat("a", 64)
		in.Card = &plan.Card{
			Agent: text, Thread: text, Question: strings.Repeat(text, repeat), Class: 2, Tappable: true,
			Facts: []plan.Fact{{Label: "To", Value: text}, {Label: text, Value: strings.Repeat(text, repeat/2)}},
		}
	}
	return plan.Compose(in)
}

// FuzzCompose_B22_FitsBothVendorsUntorn: whatever people and agents write, as the
// vendors get it: at most 4,096 bytes, valid UTF-8, cut between letters.
func FuzzCompose_B22_FitsBothVendorsUntorn(f *testing.F) {
	for _, s := range []string{"a", "<&>", "\"\\", "日本語", "👩‍👩‍👧", "🇩🇪", "👍🏽", "e\u0301", "नि", "\xff", "\u2028", "\u202e", "x\u0301\u0302\u0303"} {
		f.Add(s, 1, 300, true)
		f.Add(s, 5000/len(s), 300, true)
		f.Add(s, 3300/len(s), 900, true)
		f.Add(s, 4096/len(s), 0, false)
	}
	f.Fuzz(func(t *testing.T, text string, repeat, token int, question bool) {
		repeat, token = min(max(repeat, 0), 5000), min(max(token, 0), 1200)
		if len(text)*repeat > 20_000 {
			repeat = 20_000 / max(len(text), 1)
		}
		m := written(text, repeat, token, question)
		body, err := apns.Render(m)
		if err != nil || len(body) > apns.MaxPayload || !utf8.Valid(body) || !json.Valid(body) {
			t.Errorf("Apple: %v, %d bytes", err, len(body))
		}
		message, err := fcm.Render(m, t0.Add(-time.Hour))
		if err != nil {
			t.Fatal("Google:", err)
		}
		size := 0
		for key, value := range message.Data {
			size += len(key) + len(value)
			if !utf8.ValidString(value) {
				t.Errorf("Google: %s is not UTF-8", key)
			}
		}
		if size > fcm.MaxData {
			t.Errorf("Google: %d bytes", size)
		}
		untorn(t, text, repeat, m.Text.Body, question)
	})
}

// untorn looks at the one long text of a result that was shown as it is.
func untorn(t *testing.T, text string, repeat int, body string, question bool) {
	t.Helper()
	if short := written(text, 1, 0, false).Text.Body; question || text == "" || short != text+"\n3 to look at" {
		return
	}
	shown, cut := strings.CutSuffix(strings.TrimSuffix(body, "\n3 to look at"), "…")
	whole := strings.Repeat(text, repeat)
	if !cut || !strings.HasPrefix(whole, shown) {
		return // it fits, or blanks before the cut are gone
	}
	var borders []int
	for g := uniseg.NewGraphemes(whole); g.Next(); {
		from, to := g.Positions()
		borders = append(borders, from, to)
	}
	if len(shown) > 0 && !slices.Contains(borders, len(shown)) {
		t.Errorf("%q is torn after %d bytes", text, len(shown))
	}
}
