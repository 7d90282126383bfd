//go:build mcpconformance

// Command conformance serves the fixtures of the official MCP conformance suite through
// the same Endpoint as the service's own tools, to test the endpoint. It is run by
// scripts/mcp-conformance and not released.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/internal/mcp"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	forward := flag.String("forward", "",
		"forward requests to the service at this URL, with SVC_API_KEY, instead of serving fixtures")
	flag.Parse()
	if err := run(*listen, *forward); err != nil {
		fmt.Fprintln(os.Stderr, "conformance: "+err.Error())
		os.Exit(1)
	}
}

// run prints the URL of the endpoint and serves it until the process is killed.
func run(address, forward string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	public := "http://" + listener.Addr().String()
	handler, err := fixtures(public)
	if forward != "" {
		handler, err = proxy(forward)
	}
	if err != nil {
		return err
	}
	fmt.Println(public + "/api/mcp")
	return (&http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}).Serve(listener)
}

// fixtures serves the fixtures as the service serves its tools.
func fixtures(public string) (http.Handler, error) {
	guarded, err := mcp.Guard(public, mcp.NewEndpoint(&mcp.Server{Server: newServer()}))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/mcp", headed(guarded))
	mux.Handle("/api/mcp", headed(http.HandlerFunc(onlyPost)))
	return mux, nil
}

// proxy forwards requests with the API key added.
func proxy(forward string) (http.Handler, error) {
	target, err := url.Parse(forward)
	if err != nil {
		return nil, err
	}
	key := os.Getenv("SVC_API_KEY")
	forwarder := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-Api-Key", key)
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Buffer the body: net/http closes a body that is still being forwarded when a long
		// response starts, which sometimes aborts the response.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forwarder.ServeHTTP(w, r)
	}), nil
}

// headed sets the header that the service's middleware sets.
func headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func onlyPost(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", http.MethodPost)
	w.WriteHeader(http.StatusMethodNotAllowed)
}

func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "conformance-fixtures", Version: "1.0.0"}, &sdk.ServerOptions{
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = 60_000, "private"
		},
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	addContent(server)
	addNotifying(server)
	addAsking(server)
	addInputRequired(server)
	addResources(server)
	addPrompts(server)
	return server
}

func complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{
		Values: []string{req.Params.Argument.Value + "is"},
		Total:  1,
	}}, nil
}
