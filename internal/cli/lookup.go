package cli

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// lookupResult is what svc warranties lookup prints.
type lookupResult struct {
	Items   int           `json:"items"`
	Found   int           `json:"found"`
	Results []foundRecord `json:"results"`
}

// foundRecord is a key with the record that it found.
type foundRecord struct {
	Key string `json:"key"`
	warranty.Lookup
}

func (r *run) lookupCommand() *cobra.Command {
	file, external := "", false
	cmd := &cobra.Command{
		Use:   "lookup [number]...",
		Short: "Look up many warranties by serial or reference number",
		Long: `Looks up warranties by their exact serial numbers or their reference numbers, or
with --external-id by the external IDs of those that you issued. The numbers are
arguments, lines of a file, or both. They are sent in groups of 500.

The exit code is 2 if some were not found.

Requires the scope warranties:read.`,
		Example: `  svc warranties lookup WGG244A20-0017 WR-7K2M-9QXT-4D8P-HV3A
  svc warranties lookup --file serials.txt -o table
  svc warranties lookup --external-id order-4711-2`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := r.lookupKeys(cmd.Context(), args, file)
			if err != nil {
				return err
			}
			return r.lookup(cmd.Context(), keys, external)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "file with a number on each line; - for standard input")
	cmd.Flags().BoolVar(&external, "external-id", false, "the numbers are external IDs")
	return cmd
}

// lookupKeys returns the arguments and the lines of a file.
func (r *run) lookupKeys(ctx context.Context, args []string, name string) (keys []string, err error) {
	add := func(text string) {
		if text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")); text != "" {
			keys = append(keys, text)
		}
	}
	for _, arg := range args {
		add(arg)
	}
	if name != "" {
		file, err := r.openItems(ctx, name)
		if err != nil {
			return nil, err
		}
		defer file.Close() // read-only
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			add(lines.Text())
		}
		if err := lines.Err(); err != nil {
			return nil, usage("Cannot read the file "+quote(name)+".", "Use a text file with a number on each line.")
		}
	}
	if len(keys) == 0 {
		return nil, usage("There are no numbers to look up.", "Give serial or reference numbers as arguments, or --file.")
	}
	return keys, nil
}

// lookupItem returns what a key may be.
func lookupItem(key string, external bool) warranty.LookupItem {
	if external {
		return warranty.LookupItem{ExternalID: key}
	}
	item := warranty.LookupItem{SerialNumber: key}
	if _, err := warranty.ParseReference(key); err == nil {
		item.ReferenceNumber = key
	}
	return item
}

// lookup looks keys up, in groups.
func (r *run) lookup(ctx context.Context, keys []string, external bool) error {
	remote, err := r.connect(true)
	if err != nil {
		return err
	}
	out := lookupResult{Items: len(keys), Results: []foundRecord{}}
	for first := 0; first < len(keys); first += warranty.MaxLookups {
		group := keys[first:min(first+warranty.MaxLookups, len(keys))]
		var in warranty.LookupWarranties
		for _, key := range group {
			in.Items = append(in.Items, lookupItem(key, external))
		}
		got, response, err := call(ctx, remote, api.LookupWarranties, in)
		if err == nil && len(got.Results) != len(group) {
			err = errors.New("the lookup returned a different number of results")
		}
		if err != nil {
			return &remoteError{err, response}
		}
		for i, found := range got.Results {
			if found.WarrantyID != nil {
				out.Found++
			}
			out.Results = append(out.Results, foundRecord{group[i], found})
		}
	}
	if err := r.showLocal(out, func() string { return r.lookupTable(out) }); err != nil {
		return err
	}
	if out.Found < out.Items {
		return exitError(exitUsage)
	}
	return nil
}

// lookupTable returns the results as text.
func (r *run) lookupTable(out lookupResult) string {
	s := r.outStyle()
	status := func(row int) string {
		if found := out.Results[row].Status; found != nil {
			return found.String()
		}
		return "not found"
	}
	number := &column{title: "NUMBER"}
	product := &column{title: "PRODUCT", flex: true}
	reference := &column{title: "REFERENCE", drop: 1}
	state := &column{title: "STATUS", paint: func(row int, text string) string { return s.status(status(row), text) }}
	ends := &column{title: "ENDS"}
	for i, found := range out.Results {
		number.add(found.Key)
		name, text, end := "", "", ""
		if found.WarrantyID != nil {
			name, text, end = *found.ProductName, string(*found.ReferenceNumber), found.EndDate.String()
		}
		product.add(name)
		reference.add(text)
		state.add(status(i))
		ends.add(end)
	}
	r.note("%d of %d found.", out.Found, out.Items)
	return r.table([]*column{number, product, reference, state, ends})
}
