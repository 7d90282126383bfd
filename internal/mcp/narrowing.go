package mcp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Narrowing limits the tools of a connection. It only removes tools: the scopes of the
// token still apply. Resources and prompts go with the tools that they use.
type Narrowing struct {
	ReadOnly bool
	Tools    []string // names of the remaining tools; nil for all
}

// ParseNarrowing parses the settings of a narrowing: a boolean and a list of tools
// separated by commas. An empty text means no limit. Errors are sentences that start with
// the name of the setting.
func ParseNarrowing(readOnlyName, readOnly, toolsName, tools string) (n Narrowing, err error) {
	if readOnly != "" {
		if n.ReadOnly, err = strconv.ParseBool(strings.ToLower(readOnly)); err != nil {
			return n, warranty.Refuse(warranty.MalformedRequest, "%s must be true or false.", readOnlyName)
		}
	}
	if tools == "" {
		return n, nil
	}
	known := toolNames()
	for name := range strings.SplitSeq(tools, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return n, warranty.Refuse(warranty.MalformedRequest, "%s names an unknown tool: %s. Tools: %s.",
				toolsName, strconv.Quote(api.Printable(name)), strings.Join(known, ", "))
		}
		n.Tools = append(n.Tools, name)
	}
	return n, nil
}

func toolNames() []string {
	var names []string
	for _, op := range api.Operations() {
		if op.Tool != "" {
			names = append(names, op.Tool)
		}
	}
	return names
}

// allow returns an error if the narrowing excludes the operation's tool.
func (n Narrowing) allow(op *api.Spec) error {
	switch {
	case n.ReadOnly && !op.Reads():
		return warranty.Refuse(warranty.InsufficientScope, "%s is not available: this connection is read-only.", op.Tool)
	case n.Tools != nil && !slices.Contains(n.Tools, op.Tool):
		return warranty.Refuse(warranty.InsufficientScope, "%s is not available: this connection is limited to %s.",
			op.Tool, strings.Join(n.Tools, ", "))
	}
	return nil
}

// The headers that narrow a request to the hosted endpoint.
const (
	readOnlyHeader = "X-MCP-Readonly"
	toolsHeader    = "X-MCP-Tools"
)

type narrowingKey struct{}

// narrowed returns the context of a request with the narrowing of its headers.
func narrowed(r *http.Request) (context.Context, error) {
	ctx := r.Context()
	sent := map[string]string{}
	for _, name := range []string{readOnlyHeader, toolsHeader} {
		values := r.Header.Values(name)
		if sent[name] = strings.TrimSpace(strings.Join(values, ",")); len(values) > 0 && sent[name] == "" {
			return ctx, warranty.Refuse(warranty.MalformedRequest, "%s is empty. Give it a value, or do not send it.", name)
		}
	}
	n, err := ParseNarrowing(readOnlyHeader, sent[readOnlyHeader], toolsHeader, sent[toolsHeader])
	if err != nil || !n.ReadOnly && n.Tools == nil {
		return ctx, err
	}
	return context.WithValue(ctx, narrowingKey{}, n), nil
}

// allow returns an error if the operation is not available: the scopes do not permit it,
// or the connection is narrowed.
func (s *server) allow(ctx context.Context, caller api.Caller, op *api.Spec) error {
	if err := op.Allow(caller.Principal); err != nil {
		return err
	}
	if err := s.Narrowing.allow(op); err != nil {
		return err
	}
	n, _ := ctx.Value(narrowingKey{}).(Narrowing)
	return n.allow(op)
}
