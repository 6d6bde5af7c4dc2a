package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

// width is that of a lock screen in letters.
const width = 56

// draw gives an alert as the phone shows it, and under it the commands that answer
// it from another terminal.
func draw(a phone.Alert, commands []string) string {
	var b strings.Builder
	head := " " + called(a.Phone, a.Vendor) + " "
	if a.Badge > 0 {
		head += fmt.Sprintf("· badge %d ", a.Badge)
	}
	if a.Again {
		head += "· the same push again "
	}
	fmt.Fprintf(&b, "╭─%s%s╮\n", head, strings.Repeat("─", max(0, width-1-utf8.RuneCountInString(head))))
	row := func(text string) {
		for _, part := range wrap(plain(text), width-2) {
			fmt.Fprintf(&b, "│ %s%s │\n", part, strings.Repeat(" ", max(0, width-2-utf8.RuneCountInString(part))))
		}
	}
	row("Beckon")
	row(a.Title)
	for text := range strings.SplitSeq(a.Body, "\n") {
		if text != "" {
			row("  " + text)
		}
	}
	if len(a.Buttons) > 0 {
		var buttons []string
		for _, verb := range a.Buttons {
			buttons = append(buttons, "[ "+strings.ToUpper(verb[:1])+verb[1:]+" ]")
		}
		row(strings.Join(buttons, " "))
	}
	fmt.Fprintf(&b, "╰%s╯", strings.Repeat("─", width))
	for _, command := range commands {
		b.WriteString("\n  " + command)
	}
	return b.String()
}

// tapCommand lists what can be typed elsewhere about an alert.
func (h *host) tapCommand(a phone.Alert) []string {
	self := "beckon-phones"
	if h.listen != "127.0.0.1:8421" {
		self += " --listen " + h.listen
	}
	var out []string
	for _, verb := range a.Buttons {
		out = append(out, fmt.Sprintf("%s tap %s %s", self, a.Phone, verb))
	}
	out = append(out, fmt.Sprintf("%s open %s", self, a.Phone))
	if a.Decision != "" {
		out = append(out, "beckon answer "+a.Decision+" approve")
	}
	return out
}

// called names a phone together with who calls it.
func called(name string, v phone.Vendor) string {
	if v == phone.FCM {
		return name + " (FCM)"
	}
	return name + " (APNs)"
}

// describe says in one line what a person would notice; "" for nothing.
func describe(e phone.Event) string {
	switch e.Kind {
	case phone.Offered:
		return "waits for its digits to be typed on the other device"
	case phone.Paired:
		return "paired"
	case phone.Unpaired:
		return "the server has ended this installation (" + e.Error + ")"
	case phone.Dropped:
		return "dropped a push (" + e.Error + ")"
	case phone.Withdrawn:
		return "what it showed is settled elsewhere: the alert is gone"
	case phone.Tapped, phone.Answered:
		return e.Action + " → " + outcome(e)
	case phone.Failed:
		return plain(e.Error)
	default:
		return ""
	}
}

func outcome(e phone.Event) string {
	switch {
	case e.Result != nil && e.Result.Outcome != "":
		return e.Result.Outcome
	case e.Result != nil && e.Result.Reason != "":
		return "refused: " + e.Result.Reason
	default:
		return plain(e.Error)
	}
}

// plain keeps text of others from steering the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// wrap breaks a line between words, and inside those that are too long.
func wrap(s string, room int) []string {
	var out []string
	var lead string
	if trimmed := strings.TrimLeft(s, " "); len(trimmed) < len(s) {
		lead = s[:len(s)-len(trimmed)]
	}
	now := []rune(lead)
	for word := range strings.FieldsSeq(s) {
		runes := []rune(word)
		if len(now) > len(lead) && len(now)+1+len(runes) > room {
			out, now = append(out, string(now)), []rune(lead)
		}
		if len(now) > len(lead) {
			now = append(now, ' ')
		}
		for len(now)+len(runes) > room {
			fits := room - len(now)
			out = append(out, string(append(now, runes[:fits]...)))
			now, runes = []rune(lead), runes[fits:]
		}
		now = append(now, runes...)
	}
	return append(out, string(now))
}
