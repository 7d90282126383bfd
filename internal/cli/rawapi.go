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
	cmd := &cobra.Command{Use: "api <method> <path>", Short: "Send any request to the service, with the key",
		Long: `Sends a request with the key and writes the answer. A path is relative to the
base address; one that begins with /api/ is relative to the host.`,
		Example: "  svc api GET '/warranties?limit=1'\n  svc api PUT /warranties/01935b2e-7c4a-7def-8123-456789abcdef -H 'If-Match: \"1\"' -d '{\"category\": \"Kitchen\"}'\n  svc api GET /api/v1/auth/status --include",
		Args:    arguments("method", "path")}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&data, "data", "d", "", "`JSON` body; @file reads a file, - standard input")
	cmd.Flags().StringArrayVarP(&headers, "header", "H", nil, "`header` to send, as Name: value (may be given again)")
	cmd.Flags().BoolVarP(&include, "include", "i", false, "write status and headers of the answer to standard error")
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
		answer, err := remote.Send(cmd.Context(), request)
		if include && answer.Status != 0 {
			r.headers(answer)
		}
		if err != nil {
			return &remoteError{err, answer}
		}
		return r.showRaw(answer)
	}
	return cmd
}

// rawRequest checks what a person typed. The key goes along, so the path must
// not be able to lead elsewhere, and no header may hold a second one.
func (r *run) rawRequest(method, path string, headers []string) (api.Request, error) {
	request := api.Request{Method: strings.ToUpper(method), Header: http.Header{}}
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}, request.Method) {
		return request, usage("There is no method "+quote(method)+".", "Write GET, POST, PUT or DELETE.")
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return request, usage("The path does not begin with a slash.", "Write a path below the base address, such as /warranties; the host is that of --base-url.")
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
			return request, usage("A header has no colon.", "Write -H 'Name: value'.")
		case slices.Contains([]string{"X-Api-Key", "Authorization", "Cookie"}, name):
			return request, usage("The key is never given on the command line.", "Use svc auth login, SVC_API_KEY or --api-key-file.")
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
			return nil, usage("The file "+quote(data[1:])+" can not be read.", "Check its name and whether you may read it.")
		}
		return body, nil
	}
	return []byte(data), nil
}

func (r *run) headers(a client.Answer) {
	r.note("%d %s", a.Status, http.StatusText(a.Status))
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			r.note("%s: %s", name, value)
		}
	}
}

// showRaw writes an answer that may be anything. What is no JSON goes to a
// terminal only as text.
func (r *run) showRaw(a client.Answer) error {
	if len(a.Body) == 0 {
		return nil
	}
	if !json.Valid(a.Body) {
		if r.StdoutTerminal {
			return r.write([]byte(lines(string(a.Body)) + "\n"))
		}
		return r.write(a.Body)
	}
	switch r.format() {
	case "json":
		return r.write(append(oneLine(a.Body), '\n'))
	case "ndjson":
		return r.rawRecords(a.Body)
	case "csv":
		return usage("An answer that this program does not know can not be CSV.", "Leave out -o csv.")
	}
	return r.write(indented(a.Body))
}

// rawRecords writes each record on a line when the answer is a list.
func (r *run) rawRecords(body []byte) error {
	records, err := recordsOf(body, true)
	if err != nil {
		records, err = recordsOf(body, false)
	}
	if err != nil || len(records) == 1 && records[0] == nil {
		records = []json.RawMessage{body}
	}
	for _, record := range records {
		if err := r.write(fmt.Appendf(nil, "%s\n", oneLine(record))); err != nil {
			return err
		}
	}
	return nil
}
