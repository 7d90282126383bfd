package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
)

func (r *run) apiCommand() *cobra.Command {
	var data string
	var headers []string
	var include bool
	cmd := &cobra.Command{
		Use:   "api <method> <path>",
		Short: "Send any request to the service",
		Long: `Sends a request with your key and prints the response. The path is relative to the
base URL, or to the host if it begins with /api/.`,
		Example: `  svc api GET '/warranties?limit=1'
  svc api PUT /warranties/01935b2e-7c4a-7def-8123-456789abcdef -H 'If-Match: "1"' -d '{"category": "Kitchen"}'
  svc api GET /api/v1/auth/status --include`,
		Args: arguments("method", "path"),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&data, "data", "d", "", "`JSON` body; @file reads a file, - reads standard input")
	cmd.Flags().StringArrayVarP(&headers, "header", "H", nil, "request `header`, such as 'Name: value' (repeatable)")
	cmd.Flags().BoolVarP(&include, "include", "i", false, "print the status and headers of the response to standard error")
	r.addJQ(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request, err := r.rawRequest(args[0], args[1], headers)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("data") {
			if request.Body, err = r.rawBody(cmd.Context(), data); err != nil {
				return err
			}
		}
		remote, err := r.connect(false)
		if err != nil {
			return err
		}
		response, err := remote.Send(cmd.Context(), request)
		if include && response.Status != 0 {
			r.headers(response)
		}
		if err != nil {
			return &remoteError{err, response}
		}
		if r.jqCode != nil {
			return r.showJQ(cmd.Context(), response.Body)
		}
		return r.showRaw(response)
	}
	return cmd
}

// rawRequest validates the arguments. The path cannot lead to another host, because
// the request has the key, and no header can contain a second key.
func (r *run) rawRequest(method, path string, headers []string) (api.Request, error) {
	request := api.Request{Method: strings.ToUpper(method), Header: http.Header{}}
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}, request.Method) {
		return request, usage("Unknown method "+quote(method)+".", "Use GET, POST, PUT or DELETE.")
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return request, usage("The path must begin with a slash.",
			"Use a path relative to the base URL, such as /warranties. Set the host with --base-url.")
	case strings.HasPrefix(path, string(api.Host)+"/"):
		request.Path = path
	default:
		request.Path = string(api.V1) + path
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		switch {
		case !ok:
			return request, usage("Invalid header: missing colon.", "Use -H 'Name: value'.")
		case slices.Contains([]string{"X-Api-Key", "Authorization", "Cookie"}, name):
			return request, usage("The key cannot be on the command line.",
				"Use svc auth login, SVC_API_KEY or --api-key-file.")
		}
		request.Header.Add(name, strings.TrimSpace(value))
	}
	return request, nil
}

func (r *run) rawBody(ctx context.Context, data string) ([]byte, error) {
	switch {
	case data == "-":
		return io.ReadAll(&stdin{ctx: ctx, r: r.Stdin})
	case strings.HasPrefix(data, "@"):
		body, err := os.ReadFile(data[1:])
		if err != nil {
			return nil, usage("Cannot read the file "+quote(data[1:])+".", "Check its name and permissions.")
		}
		return body, nil
	}
	return []byte(data), nil
}

func (r *run) headers(response client.Response) {
	r.note("%d %s", response.Status, http.StatusText(response.Status))
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		for _, value := range response.Header[name] {
			r.note("%s: %s", name, value)
		}
	}
}

// showRaw writes any response. On a terminal, a body that is not JSON is escaped.
func (r *run) showRaw(response client.Response) error {
	body := response.Body
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		if r.StdoutTerminal {
			return r.write([]byte(safeLines(string(body)) + "\n"))
		}
		return r.write(body)
	}
	switch r.format() {
	case "json":
		return r.write(append(compactJSON(body), '\n'))
	case "ndjson":
		return r.rawRecords(body)
	case "csv":
		return usage("svc api does not support -o csv.", "Remove -o csv.")
	}
	return r.write(indentJSON(body))
}

// rawRecords writes one line per record if the response is a list.
func (r *run) rawRecords(body []byte) error {
	records, err := recordsOf(body, true)
	if err != nil {
		records, err = recordsOf(body, false)
	}
	if err != nil || len(records) == 1 && records[0] == nil {
		records = []json.RawMessage{body}
	}
	for _, record := range records {
		if err := r.write(fmt.Appendf(nil, "%s\n", compactJSON(record))); err != nil {
			return err
		}
	}
	return nil
}
