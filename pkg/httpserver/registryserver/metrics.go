package registryserver

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/metrics"
)

// metricsPath is where Metered serves metrics.
const metricsPath = "/metrics"

// Metered returns next with metrics of its requests, in the text format of Prometheus, under metricsPath.
// more are further ones, which do not change.
func Metered(next http.Handler, more ...metrics.Metric) http.Handler {
	return &metered{next: next, more: more, requests: map[int]int64{}}
}

type metered struct {
	next http.Handler
	more []metrics.Metric

	mu       sync.Mutex
	requests map[int]int64 // by status
	sent     int64         // bytes of bodies
}

// ServeHTTP implements http.Handler.
func (m *metered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == metricsPath {
		w.Header().Set("Content-Type", metrics.ContentType)
		_ = metrics.Write(w, m.metrics()...) // the client may be gone
		return
	}
	counting := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() { // also if a panic ends the response
		m.mu.Lock()
		defer m.mu.Unlock()
		m.requests[counting.status]++
		m.sent += counting.sent
	}()
	m.next.ServeHTTP(counting, r)
}

func (m *metered) metrics() []metrics.Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests := metrics.Metric{Name: "gantry_serve_requests_total", Help: "Requests, by the status of their response.", Type: metrics.Counter}
	for _, code := range slices.Sorted(maps.Keys(m.requests)) {
		requests.Samples = append(requests.Samples, metrics.Sample{Labels: []string{"code", strconv.Itoa(code)}, Value: float64(m.requests[code])})
	}
	sent := metrics.Metric{Name: "gantry_serve_sent_bytes_total", Help: "Bytes of the bodies of responses.", Type: metrics.Counter, Samples: metrics.One(float64(m.sent))}
	return append([]metrics.Metric{requests, sent}, m.more...)
}

// A countingWriter keeps the status and the length of a response.
type countingWriter struct {
	http.ResponseWriter
	status int
	sent   int64
}

// WriteHeader implements http.ResponseWriter.
func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
