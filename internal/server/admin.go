package server

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts requests for the admin listener.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

// NewMetrics returns metrics that include the given version in svc_build_info.
func NewMetrics(version string) *Metrics {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "svc_request_seconds",
		Help:    "Time to answer a request.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"route", "status"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "svc_build_info",
		Help:        "Always 1; the label is the running version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m := &Metrics{registry: prometheus.NewRegistry(), requests: requests}
	m.registry.MustRegister(requests, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe counts one request. Routes are a fixed set, so the number of series is bounded.
func (m *Metrics) observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Observe(took.Seconds())
}

// watch exports the connection counts of a listener.
func (m *Metrics) watch(c *connections) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "svc_connections", Help: "Open connections."},
		func() float64 { open, _ := c.counts(); return float64(open) }))
	for _, reason := range []string{addressFull, serverFull} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "svc_connections_refused_total",
			Help:        "Connections closed on arrival, because the address or the server has too many.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { _, refused := c.counts(); return float64(refused[reason]) }))
	}
}

// Handler serves the metrics in the Prometheus format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func adminRoutes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return loopbackHost(mux)
}

// loopbackHost rejects requests whose Host is not localhost or a loopback address.
// This prevents DNS rebinding: a website that resolves its own name to 127.0.0.1
// could otherwise read everything through a browser on this machine.
func loopbackHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
			http.Error(w, "The admin listener only accepts requests to localhost or a loopback address.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
