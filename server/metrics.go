package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/beckon-dev/beckon/server/rpc"
)

// metrics counts calls. Labels are procedures and words, never ids.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newMetrics asks open for the streams that are open: a call is counted when it
// ends, which they have not.
func newMetrics(open func() int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_calls_total", Help: "Calls that have ended, by what came of them.",
		}, []string{"procedure", "kind", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "beckon_call_seconds", Help: "How long calls took, the time they were asked to wait included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 25, 60},
		}, []string{"procedure"}),
	}
	m.registry.MustRegister(m.calls, m.duration,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "beckon_open_streams", Help: "Streams that are open.",
		}, func() float64 { return float64(open()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(c rpc.Call) {
	m.calls.WithLabelValues(c.Procedure, c.Kind.String(), c.Code, c.Reason).Inc()
	m.duration.WithLabelValues(c.Procedure).Observe(c.Duration.Seconds())
}
