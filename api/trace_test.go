package api_test

import (
	"context"
	"strings"
	"testing"

	"warranty.example/svc/api"
)

func TestTraceID(t *testing.T) {
	const id, good = "4bf92f3577b34da6a3ce929d0e0e4736", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, v := range []string{good, strings.Replace(good, "-01", "-ff", 1), "cc" + good[2:], "01" + good[2:] + "-what the", "cc" + good[2:] + "-x"} {
		want := id
		if strings.Contains(v, " ") {
			want = "" // a header value of visible characters
		}
		if got := api.TraceID(v); got != want {
			t.Errorf("%q: %q, want %q", v, got, want)
		}
	}
	for _, v := range []string{
		"", "00", good[1:], good + "-", good + "-x", good + " ", " " + good, good + "\n", "ff" + good[2:],
		strings.ToUpper(good), strings.Replace(good, "4bf9", "4BF9", 1), strings.Replace(good, "4bf9", "4bg9", 1),
		"0g" + good[2:], "00_" + good[3:], good[:35] + "_" + good[36:], good[:52] + "_" + good[53:], good[:53] + "0x",
		"00-" + strings.Repeat("0", 32) + good[35:], good[:36] + strings.Repeat("0", 16) + good[52:],
		"cc" + good[2:] + ".x", "cc" + good[2:] + "-\x1b[31m", "cc" + good[2:] + "-" + strings.Repeat("x", 1000),
		"00-\x1b[31m577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736,00f067aa0ba902b7-01",
	} {
		if got := api.TraceID(v); got != "" {
			t.Errorf("%q is accepted: %q", v, got)
		}
	}
	if got := api.Traceparent(api.WithTraceparent(context.Background(), good)); got != good {
		t.Error(got)
	}
	if got := api.Traceparent(api.WithTraceparent(context.Background(), good+"\r\nX: y")); got != "" {
		t.Error(got)
	}
}
