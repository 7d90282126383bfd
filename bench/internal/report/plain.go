package report

import (
	"fmt"
	"slices"
	"strings"
)

// Plain lists everything, a line each.
func Plain(r Results) string {
	keys := make([]key, 0, len(r))
	for k := range r {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return strings.Compare(fmt.Sprint(a.operation, a.server, a.records), fmt.Sprint(b.operation, b.server, b.records))
	})
	var b strings.Builder
	for _, k := range keys {
		m, _ := r.Median(k.server, k.records, k.operation)
		fmt.Fprintf(&b, "%-10s %-10s %8d  %8.3f ms CPU %8.3f ms DB %8.0f/s  p50 %8.2f  p99 %8.2f\n", k.operation, k.server, k.records, m.CPU.Seconds()*1e3, m.Database.Seconds()*1e3, m.PerSecond, m.P50.Seconds()*1e3, m.P99.Seconds()*1e3)
	}
	return b.String()
}
