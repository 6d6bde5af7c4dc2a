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
	stuck    prometheus.Gauge
	restores prometheus.Counter
}

// newMetrics asks open for the streams that are open: a call is counted when it
// ends, which they have not.
func newMetrics(open func() int, epoch func() uint64, l *lanes) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_calls_total", Help: "Calls that have ended, by what came of them.",
		}, []string{"procedure", "kind", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "beckon_call_seconds", Help: "How long calls took, the time they were asked to wait included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 25, 60},
		}, []string{"procedure"}),
		stuck: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "beckon_tasks_stuck", Help: "Tasks that nothing would ever move, at the last look. Anything but 0 is a fault.",
		}),
		restores: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "beckon_unnoticed_restores_total", Help: "Times that the store was found taken back without a word, since the start. Anything but 0 needs an operator.",
		}),
	}
	m.registry.MustRegister(m.calls, m.duration, m.stuck, m.restores,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "beckon_epoch", Help: "Number of the history that is being written; each restore begins one.",
		}, func() float64 { return float64(epoch()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "beckon_open_streams", Help: "Streams that are open.",
		}, func() float64 { return float64(open()) }),
		newLanesCollector(l),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// foundStuck is what a look for stuck tasks could not mend.
func (m *metrics) foundStuck(n int) { m.stuck.Set(float64(n)) }

func (m *metrics) observe(c rpc.Call) {
	m.calls.WithLabelValues(c.Procedure, c.Kind.String(), c.Code, c.Reason).Inc()
	m.duration.WithLabelValues(c.Procedure).Observe(c.Duration.Seconds())
}

// lanesCollector reads the pauses of the lanes whenever somebody asks. Targets
// are told by program and environment, both of which the operator has named.
type lanesCollector struct {
	lanes             *lanes
	paused, addresses *prometheus.Desc
}

func newLanesCollector(l *lanes) lanesCollector {
	return lanesCollector{
		lanes: l,
		paused: prometheus.NewDesc("beckon_push_lane_paused",
			"1 while nothing is sent to a provider because it refused our credentials or told us to slow down.",
			[]string{"lane"}, nil),
		addresses: prometheus.NewDesc("beckon_push_addresses_paused",
			"Topics of a program that are not sent to because the provider refuses their addresses in bulk.",
			[]string{"lane", "app", "environment"}, nil),
	}
}

// Describe names both metrics.
func (c lanesCollector) Describe(out chan<- *prometheus.Desc) { out <- c.paused; out <- c.addresses }

// Collect reads every lane.
func (c lanesCollector) Collect(out chan<- prometheus.Metric) {
	for lane, w := range c.lanes.workers {
		paused := 0.0
		if !w.Circuit().Closed() {
			paused = 1
		}
		out <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, paused, lane)
		topics := map[[2]string]float64{}
		for _, p := range w.Pauses() {
			topics[[2]string{p.App, string(p.Env)}]++
		}
		for target, n := range topics {
			out <- prometheus.MustNewConstMetric(c.addresses, prometheus.GaugeValue, n, lane, target[0], target[1])
		}
	}
}
