package api

import (
	"context"
	"strings"
)

// TraceparentHeader is the header of W3C Trace Context that names the trace of a request.
const TraceparentHeader = "Traceparent"

// TraceparentEnv is the environment variable from which svc and svc-mcp take the trace
// that they are part of.
const TraceparentEnv = "TRACEPARENT"

// TraceID returns the trace id in a traceparent header, or "" if the header is malformed:
// version-traceid-parentid-flags in lower-case hexadecimal digits. Versions after 00
// may append fields.
func TraceID(traceparent string) string {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(traceparent) < length || len(traceparent) > 512 {
		return ""
	}
	version, rest := traceparent[:2], traceparent[length:]
	traceID, parentID, flags := traceparent[3:35], traceparent[36:52], traceparent[53:55]
	switch {
	case traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-',
		!isHex(version) || !isHex(traceID) || !isHex(parentID) || !isHex(flags),
		version == "ff", version == "00" && rest != "", rest != "" && rest[0] != '-',
		strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' }),
		strings.Trim(traceID, "0") == "", strings.Trim(parentID, "0") == "":
		return ""
	}
	return traceID
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

type traceKey struct{}

// WithTraceparent returns a context whose requests are part of the trace that the
// traceparent names. Package client sends it; a malformed one is ignored.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// Traceparent returns the value of WithTraceparent if it is well-formed, else "".
func Traceparent(ctx context.Context) string {
	if v, _ := ctx.Value(traceKey{}).(string); TraceID(v) != "" {
		return v
	}
	return ""
}
