package load_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/e2e/load"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for name, c := range map[string]struct {
		all   []time.Duration
		share float64
		want  time.Duration
	}{
		"nothing":           {nil, 0.5, 0},
		"one":               {[]time.Duration{7}, 0.99, 7},
		"the middle":        {hundred, 0.5, 50},
		"one in a hundred":  {hundred, 0.99, 99},
		"the upper of two":  {[]time.Duration{9, 3}, 0.99, 9},
		"the middle of two": {[]time.Duration{9, 3}, 0.5, 3},
		"all":               {hundred, 1, 100},
	} {
		if got := load.Percentile(c.all, c.share); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestMedian_EachNumberForItself(t *testing.T) {
	t.Parallel()
	got := load.Median([]load.Result{
		{What: "w", Rate: 3, P50: 1, RssAnonMB: 5}, {What: "w", Rate: 1, P50: 9, RssAnonMB: 6}, {What: "w", Rate: 2, P50: 2, RssAnonMB: 70},
	})
	if diff := cmp.Diff(load.Result{What: "w", Rate: 2, P50: 2, RssAnonMB: 6}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := load.WriteTable(&b, load.Machine{Cores: 2, CPU: "a CPU", Go: "go1"}, 3, []load.Result{
		{What: "pushes", Rate: 6000.4, CPU: 180 * time.Microsecond, PerCommit: 1.25}, {What: "answers", P99: 1500 * time.Microsecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| pushes | 6000 | – | – | 180 µs | – | 1.2 | – | – | – | – |\n", "| answers | – | – | 1.50 ms |", "Medians of 3. 2 cores (a CPU)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
