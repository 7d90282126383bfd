package server

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"warranty.example/svc/warranty"
)

// Metrics counts requests for the admin listener.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	writes   prometheus.Histogram
}

// NewMetrics returns metrics that include the given version in svc_build_info.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "svc_http_request_duration_seconds",
			Help:    "Time to answer a request, by method, route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route", "status"}),
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "svc_database_write_duration_seconds",
			Help:    "Time that write transactions took; with SQLite, that each commit held the only writer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "svc_build_info",
		Help:        "Always 1; the labels are the running version and the version of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.writes, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// ObserveWrite counts one write transaction.
func (m *Metrics) ObserveWrite(took time.Duration) { m.writes.Observe(took.Seconds()) }

// methods are the values of the label method. Clients can send any other word.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions,
}

// observe counts one request. Methods and routes are fixed sets, so the number of series
// is bounded.
func (m *Metrics) observe(r *http.Request, status int, took time.Duration) {
	method, route := r.Method, routeOf(r)
	if !slices.Contains(methods, method) {
		method = "other"
	}
	if _, path, hasMethod := strings.Cut(route, " "); hasMethod {
		route = path
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// watch exports the state of the server's connections, database, limiter and certificate.
func (m *Metrics) watch(s *Server, c *connections) {
	m.gauge("svc_connections", "Open connections.", func() float64 { open, _ := c.counts(); return float64(open) })
	for _, reason := range []string{addressFull, serverFull} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "svc_connections_refused_total",
			Help:        "Connections closed on arrival, because the address or the server has too many.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { _, refused := c.counts(); return float64(refused[reason]) }))
	}
	for _, code := range []warranty.Code{warranty.RateLimited, warranty.IPThrottled} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "svc_rate_limited_total",
			Help:        "Requests refused because of a rate limit, by error code.",
			ConstLabels: prometheus.Labels{"code": string(code)},
		}, func() float64 { return float64(s.Service.Limited(code)) }))
	}
	store := s.Service.Store
	m.gauge("svc_database_connections_in_use", "Database connections that are in use.",
		func() float64 { return float64(store.Stats().ConnectionsInUse) })
	m.gauge("svc_database_connections_max", "Database connections that can be in use.",
		func() float64 { return float64(store.Stats().MaxConnections) })
	m.gauge("svc_database_writes_pending", "Write transactions that run or wait.",
		func() float64 { return float64(store.Stats().Writes) })
	if shared, ok := s.Service.Limits.(interface{ Up() bool }); ok {
		m.gauge("svc_redis_up", "Whether Redis answered last; if not, this replica counts rate limits in memory.",
			func() float64 { return number(shared.Up()) })
	}
	if s.CertificateExpires != nil {
		m.gauge("svc_tls_certificate_expiry_timestamp_seconds", "End of the certificate's validity; 0 without one.",
			func() float64 { return unix(s.CertificateExpires()) })
	}
	m.watchWork(s)
}

func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix returns a time in Unix seconds, and 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

// Handler serves the metrics in the Prometheus format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
