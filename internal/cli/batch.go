package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// batchResult is what svc warranties batch prints: the results of all items, and how many have each status.
type batchResult struct {
	Items  int                          `json:"items"`
	Counts map[warranty.BatchStatus]int `json:"counts"`
	warranty.BatchResults
}

func (r *run) batchCommand() *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "batch <file.json|->",
		Short: "Create many warranties from JSON",
		Long: `Creates a warranty for each item of a JSON array or of newline-delimited JSON, or
of standard input with -. Items have the fields of svc warranties create, as in
the API. An item whose external_id is known updates its record; with
--keep-existing it is only compared.

Items are sent in groups of 50, each of which counts as one request, and groups
that fail because of the network or the service are sent again. At the rate limit,
the command waits. Items with an external_id can be sent again at any time; those
without one are not created twice within 24 hours.

The exit code is 2 if items failed or, with --keep-existing, differ.

Requires the scope warranties:write.`,
		Example: `  svc warranties batch orders.json
  jq -c '.orders[]' export.json | svc warranties batch - --keep-existing`,
		Args: arguments("file"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.batch(cmd.Context(), args[0], keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep-existing", false, "do not change records with a known external_id; report those that differ")
	return cmd
}

// batch sends the items of a file in groups.
func (r *run) batch(ctx context.Context, name string, keep bool) error {
	file, err := r.openItems(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close() // read-only
	items, err := readItems(file)
	if err != nil {
		return err
	}
	remote, err := r.connect(true)
	if err != nil {
		return err
	}
	existing := warranty.UpdateExisting
	if keep {
		existing = warranty.KeepExisting
	}
	out := batchResult{Items: len(items), Counts: map[warranty.BatchStatus]int{}}
	out.Results = []warranty.BatchResult{}
	r.startProgress()
	for first := 0; first < len(items); first += warranty.BatchPerRequest {
		group := items[first:min(first+warranty.BatchPerRequest, len(items))]
		got, err := sendGroup(ctx, remote, group, existing)
		if err != nil {
			r.bar.clear()
			r.note("Stopped after %d of %d items. Run the command again to continue.", first, len(items))
			return err
		}
		for _, result := range got.Results {
			out.Counts[result.Status]++
		}
		out.Results = append(out.Results, got.Results...)
		r.bar.update(float64(len(out.Results))/float64(len(items)), fmt.Sprintf("%d items", len(out.Results)))
	}
	r.bar.clear()
	if err := r.showLocal(out, out.summary); err != nil {
		return err
	}
	if out.Counts[warranty.BatchFailed]+out.Counts[warranty.BatchDiffers] > 0 {
		return exitError(exitUsage)
	}
	return nil
}

// sendGroup sends items under a key that follows from their content, so that they can be sent again.
func sendGroup(
	ctx context.Context, remote *client.Client, items []warranty.BatchItem, existing warranty.Existing,
) (warranty.BatchResults, error) {
	sum := sha256.New()
	for _, item := range items {
		sum.Write(item.Text)
		sum.Write([]byte{'\n'})
	}
	key := "svc-batch-" + hex.EncodeToString(sum.Sum(nil))
	out, _, err := call(ctx, remote, api.CreateBatch,
		warranty.CreateBatch{Items: items, Existing: existing, IdempotencyKey: &key})
	if err == nil && len(out.Results) != len(items) {
		err = errors.New("the batch returned a different number of results")
	}
	return out, err
}

// openItems opens a file, or standard input.
func (r *run) openItems(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(&stdin{ctx: ctx, r: r.Stdin}), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("Cannot read the file "+quote(name)+".", "Check its name and permissions. Use - for standard input.")
	}
	return f, nil
}

// readItems reads the elements of a JSON array, or JSON values that follow each other.
func readItems(from io.Reader) (items []warranty.BatchItem, err error) {
	in := bufio.NewReader(from)
	var array bool
	for {
		c, _, err := in.ReadRune()
		if err != nil {
			return nil, usage("The file has no items.", "Use a JSON array, or a JSON object on each line.")
		}
		if strings.ContainsRune(" \t\r\n\ufeff", c) {
			continue
		}
		if array = c == '['; !array {
			err = in.UnreadRune()
		}
		if err != nil {
			return nil, err
		}
		break
	}
	var text io.Reader = in
	if array {
		text = io.MultiReader(strings.NewReader("["), in)
	}
	d := json.NewDecoder(text)
	if array {
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	for !array || d.More() {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) && !array {
			break
		}
		if err != nil {
			return nil, usage(fmt.Sprintf("Item %d is not valid JSON.", len(items)+1), "Nothing was sent. Fix the file and run the command again.")
		}
		items = append(items, warranty.BatchItem{Text: bytes.Clone(raw)})
	}
	if array {
		if _, err := d.Token(); err != nil {
			return nil, usage("The JSON array does not end.", "Nothing was sent. Fix the file and run the command again.")
		}
	}
	if len(items) == 0 {
		return nil, usage("The file has no items.", "Use a JSON array, or a JSON object on each line.")
	}
	return items, nil
}

// summary returns the results as text: the counts, and the items that failed or differ.
func (b batchResult) summary() string {
	var out strings.Builder
	for i, r := range b.Results {
		switch {
		case r.Problem != nil:
			reasons := []string{}
			for _, f := range r.Problem.Errors {
				reasons = append(reasons, f.Field+": "+f.Message)
			}
			if len(reasons) == 0 {
				reasons = append(reasons, r.Problem.Detail)
			}
			fmt.Fprintf(&out, "Item %d failed: %s\n", i+1, safeLine(strings.Join(reasons, " ")))
		case r.Status == warranty.BatchDiffers:
			fmt.Fprintf(&out, "Item %d differs from its record: %s.\n", i+1, safeLine(strings.Join(r.Differs, ", ")))
		}
	}
	fmt.Fprintf(&out, "%s:", count(int64(b.Items), "1 item", "%d items"))
	for i, status := range (warranty.BatchStatus("")).Values() {
		comma := ","
		if i == 0 {
			comma = ""
		}
		fmt.Fprintf(&out, "%s %d %s", comma, b.Counts[warranty.BatchStatus(status)], status)
	}
	out.WriteString(".\n")
	return out.String()
}
